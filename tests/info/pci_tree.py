"""A copy of sysfs with the PCI devices that a test needs, and nothing else."""
import os


def add_device(root, chain, *link):
    """A PCI device below root/devices, and the other places where the system shows it."""
    folder, place = os.path.join(root, "devices", chain), os.path.join(root, *link)
    os.makedirs(folder)
    with open(os.path.join(folder, "numa_node"), "w") as file:
        file.write("0\n")
    os.makedirs(os.path.dirname(place), exist_ok=True)
    os.symlink(folder, place)


def add_gpus(root):
    """The two GPUs of the double of CUDA's driver, at one socket."""
    for gpu in ("40", "41"):
        add_device(root, f"pci0000:{gpu}/0000:{gpu}:01.0/0000:{gpu}:00.0", "bus/pci/devices", f"0000:{gpu}:00.0")
