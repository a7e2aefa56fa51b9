"""Draws with gnuplot: how much of its budget each call takes, ours and the reference side by side; and what the split
of quiet gives under delays.

Not a program of its own; run.py and hosts.py call it.
Read on: table.py.
"""
import re
import shutil
import subprocess
import sys

SCRIPT = """
set terminal pngcairo noenhanced size 1500,860 font "DejaVu Sans,13" background "#ffffff"
set output "{path}"
set title "What each call takes of its budget (logarithmic; below the line is within budget)" font ",15"
set logscale y
set yrange [{low}:{high}]
set xrange [-0.6:{last}.6]
set ytics ("1/32" 0.03125, "1/16" 0.0625, "1/8" 0.125, "1/4" 0.25, "1/2" 0.5, "budget" 1, "2 x" 2, "4 x" 4, "8 x" 8, \
           "16 x" 16, "32 x" 32, "64 x" 64, "128 x" 128)
set xtics rotate by 35 right scale 0 font ",12" textcolor rgb "#222222" ({labels})
set grid ytics lc rgb "#dddddd" lw 1
set border 3 lc rgb "#444444"
set tics nomirror
set key top left horizontal samplen 1.2 font ",13"
set style fill solid 0.95 noborder
set boxwidth 0.38
set bmargin {bottom}
set lmargin 13
set rmargin 3
$ours << END
{ours}
END
$theirs << END
{theirs}
END
plot $ours using 1:2 with boxes lc rgb "#1b7f79" title "Isthmus", {theirs_plot} \
     1 with lines lw 2 lc rgb "#222222" notitle, \
     $ours using 1:2:3 with labels rotate by 90 left offset 0,0.4 font ",10" tc rgb "#0d4a46" notitle{theirs_labels}
"""

SPLIT_SCRIPT = """
set terminal pngcairo noenhanced size 1000,620 font "DejaVu Sans,13" background "#ffffff"
set output "{path}"
set title "A round of eight puts of 4 KiB from the same buffers" font ",15"
set logscale y
set xlabel "added delay between the hosts, one way, in ms"
set ylabel "time of a round in ms (logarithmic)"
set grid lc rgb "#dddddd" lw 1
set border 3 lc rgb "#444444"
set tics nomirror
set xrange [-0.5:*]
set key top left samplen 2 font ",13"
set rmargin 4
$rounds << END
{rounds}
END
plot $rounds using 1:2 with linespoints lw 2 pt 7 ps 1.3 lc rgb "#b9bec4" title "quiet after each round", \
     $rounds using 1:3 with linespoints lw 2 pt 7 ps 1.3 lc rgb "#1b7f79" \
       title "local_complete after each round, one remote_commit at the end"
"""


def share(row, value, ratio):
    """How much of the budget is taken: 1 is all of it."""
    return (ratio if row.unit == "x" else value) / row.budget


def data(points):
    """Lines of (x, share of the budget, label) for gnuplot."""
    return "\n".join(f'{x:.3f} {y:.5g} "{label}"' for x, y, label in points)


def draw(path, rows, quantity):
    """Writes the PNG; if gnuplot is missing, reports that and goes on. Rows without a budget are left out."""
    rows = [row for row in rows if row.budget is not None]
    if not rows or not shutil.which("gnuplot"):
        print("bench: no plot: " + ("gnuplot is not installed" if rows else "no row has a budget"), file=sys.stderr)
        return
    paired = any(row.reference is not None for row in rows)
    shift = 0.2 if paired else 0
    ours = [(x - shift, share(row, row.isthmus, row.ratio), quantity(row.isthmus, row.unit))
            for x, row in enumerate(rows)]
    theirs = [(x + shift, share(row, row.reference, row.reference_ratio), quantity(row.reference, row.unit))
              for x, row in enumerate(rows) if row.reference is not None]
    shares = [y for _, y, _ in ours + theirs]
    labels = [re.sub(r" \(bare: [^)]*\)", "", row.call) for row in rows]
    script = SCRIPT.format(
        path=path, bottom=max(11, max(map(len, labels)) // 4), low=min(0.25, min(shares) / 1.5),
        high=max(2, max(shares)) * 5, last=len(rows) - 1,
        labels=", ".join(f'"{label}" {x}' for x, label in enumerate(labels)), ours=data(ours), theirs=data(theirs),
        theirs_plot='$theirs using 1:2 with boxes lc rgb "#b9bec4" title "Open MPI", \\\n' if paired else "",
        theirs_labels=', \\\n $theirs using 1:2:3 with labels rotate by 90 left offset 0,0.4 font ",10" '
                      'tc rgb "#555555" notitle' if paired else "")
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def draw_split(path, points):
    """Writes the PNG; if gnuplot is missing, reports that and goes on. points: (delay in ms, two times in ns)."""
    if len(points) < 2 or not shutil.which("gnuplot"):
        print("bench: no plot of the split: " + ("gnuplot is not installed" if len(points) > 1 else "only one delay"),
              file=sys.stderr)
        return
    rounds = "\n".join(f"{delay_ms:g} {quiet_ns / 1e6:.5g} {split_ns / 1e6:.5g}"
                       for delay_ms, quiet_ns, split_ns in points)
    subprocess.run(["gnuplot"], input=SPLIT_SCRIPT.format(path=path, rounds=rounds), text=True, check=True)
