/* slow_switch MS LOSS_PERCENT PORT...: a switch that forwards each frame after a delay and loses some, for machines
 * whose kernel has no netem: hosts.sh starts it in place of its bridge. Frames from the first port are never lost: the
 * launcher is there. It learns which host is behind which port, and leaves frames that do not fit into its queue to the
 * ports.
 * Not for speed: each frame is copied twice, by one process. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { MAX_PORTS = 64, QUEUE = 16384, FRAME_BYTES = 2048, HEAD_BYTES = sizeof(struct virtio_net_hdr) };

/* A frame's header states which checksums are still missing: veth leaves them out. */
struct frame {
    uint64_t due_ns;
    int from, length_bytes;
    unsigned char bytes[FRAME_BYTES];
};

static struct pollfd ports[MAX_PORTS];
static unsigned char addresses[MAX_PORTS][ETH_ALEN]; /* seen behind each port: there is one host at each */
static int n_ports;
static struct frame *queue; /* a ring, in the order of arrival, which is that of delivery too */
static unsigned long n_in, n_out;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int open_port(const char *name)
{
    struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    int yes = 1, room = 4 << 20, fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0);
    at.sll_ifindex = (int)if_nametoindex(name);
    if (fd < 0 || at.sll_ifindex == 0 || setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &yes, sizeof yes) != 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof yes) != 0 ||
        bind(fd, (struct sockaddr *)&at, sizeof at) != 0) {
        fprintf(stderr, "slow_switch: %s: %s\n", name, strerror(errno));
        exit(EXIT_FAILURE);
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
    return fd;
}

static void take(int port, uint64_t delay_ns, double loss)
{
    while (n_in - n_out < QUEUE) {
        struct frame *frame = &queue[n_in % QUEUE];
        ssize_t length = recv(ports[port].fd, frame->bytes, FRAME_BYTES, 0);
        if (length < 0) return;
        if (length < HEAD_BYTES + ETH_HLEN) continue;
        memcpy(addresses[port], frame->bytes + HEAD_BYTES + ETH_ALEN, ETH_ALEN);
        if (port > 0 && drand48() < loss)
            continue; /* the same ones in every run, as far as frames come in the same order */
        frame->from = port;
        frame->length_bytes = (int)length;
        frame->due_ns = now_ns() + delay_ns;
        n_in++;
    }
}

/* To its port, or to all ports for a broadcast or an unknown address. */
static void give(const struct frame *frame)
{
    int to = -1;
    for (int port = 0; port < n_ports; port++)
        if (memcmp(addresses[port], frame->bytes + HEAD_BYTES, ETH_ALEN) == 0) to = port;
    for (int port = 0; port < n_ports; port++)
        if (port != frame->from && (to < 0 || to == port))
            (void)!send(ports[port].fd, frame->bytes, (size_t)frame->length_bytes, 0);
}

int main(int argc, char **argv)
{
    uint64_t delay_ns = argc > 1 ? (uint64_t)(atof(argv[1]) * 1e6) : 0;
    double loss = argc > 2 ? atof(argv[2]) / 100 : 0;
    queue = malloc(QUEUE * sizeof *queue);
    if (argc < 5 || argc - 3 > MAX_PORTS || queue == NULL) {
        fprintf(stderr, "usage: slow_switch MS LOSS_PERCENT PORT PORT...\n");
        return EXIT_FAILURE;
    }
    for (n_ports = 0; n_ports < argc - 3; n_ports++)
        ports[n_ports] = (struct pollfd){.fd = open_port(argv[3 + n_ports]), .events = POLLIN};
    for (;;) {
        uint64_t now = now_ns();
        while (n_out < n_in && queue[n_out % QUEUE].due_ns <= now) give(&queue[n_out++ % QUEUE]);
        uint64_t wait_ns = n_out < n_in ? queue[n_out % QUEUE].due_ns - now : 1000000000;
        const struct timespec timeout = {(time_t)(wait_ns / 1000000000), (long)(wait_ns % 1000000000)};
        if (ppoll(ports, (nfds_t)n_ports, &timeout, NULL) <= 0) continue;
        for (int port = 0; port < n_ports; port++)
            if (ports[port].revents != 0) take(port, delay_ns, loss);
    }
}
