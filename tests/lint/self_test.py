#!/usr/bin/env python3
"""Each check of this folder passes a small good tree and finds the fault that is planted in it."""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
GOOD = {
    "include/isthmus/transport.h": "#ifndef T_H\n#define T_H\nextern const int isthmus_transport_v1;\n#endif\n",
    "core/base/log.h": "#ifndef LOG_H\n#define LOG_H\n#include <isthmus/transport.h>\n#endif\n",
    "core/ops/rma.h": '#ifndef RMA_H\n#define RMA_H\n#include "core/base/log.h"\n#endif\n',
    "core/ops/rma.c": '#include "core/ops/rma.h"\n\n/* strcpy, ib: comments may name what they like */\n'
                      'static const char *text = "a volatile sleep(1), from NVSHMEM_IB_ENABLE";\n',
    "plugins/ib/ib.c": "#include <isthmus/transport.h>\n",
}


class Lint(unittest.TestCase):
    def setUp(self):
        self.root = Path(tempfile.mkdtemp(prefix="lint-"))
        self.addCleanup(shutil.rmtree, self.root)
        for name, text in GOOD.items():
            self.plant(name, text)

    def plant(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run_check(self, check, *options):
        done = subprocess.run([sys.executable, str(HERE / f"{check}.py"), "--root", str(self.root), *options],
                              text=True, capture_output=True)
        return done.returncode, done.stdout + done.stderr

    def assert_clean(self, check, *options):
        self.assertEqual(self.run_check(check, *options), (0, ""))

    def assert_found(self, pattern, check, *options):
        status, output = self.run_check(check, *options)
        self.assertEqual(status, 1, output)
        self.assertRegex(output, pattern)

    def test_floors(self):
        self.assert_clean("floors")
        for path, text, expected in (
                ("core/base/a.c", '#include "core/ops/rma.h"\n',
                 r"core/base/a.c:1: .*core/ops/rma.h, which is above it"),
                ("core/heap/a.h", '\n#include "../ops/rma.h"\n', r"core/heap/a.h:2: .*core/ops/rma.h, which is above"),
                ("core/ops/a.c", '#include "core/sync/wait.h"\n',
                 r"core/ops/a.c:1: .*core/sync/wait.h, which is above"),
                ("core/team/a.c", "#include <shmem.h>\n", r"core/team/a.c:1: .*include/shmem.h, which is above"),
                ("core/base/a.c", '# include "plugins/ib/ib.h"\n', r"the core knows no plugin"),
                ("core/heap/a.c", '#include "core/runtime.h"\n', r"core/heap/a.c:1: .*core/runtime.h, which is above"),
                ("core/parts.c", '#include "core/api/entry.h"\n',
                 r"core/parts.c:1: .*core/api/entry.h, which is above"),
                ("core/api/a.c", '#include "core/parts.h"\n', r"core/api/a.c:1: .*know core/runtime.h only"),
                ("core/odd/a.c", '#include "core/base/log.h"\n', r"core/odd/a.c:1: this folder has no floor"),
                ("plugins/ib/a.c", '#include "core/base/log.h"\n', r"plugins/ib/a.c:1: .*its own folder only"),
                ("plugins/ib/a.c", '#include "plugins/loopback/lb.h"\n', r"its own folder only"),
                ("plugins/ib/a.c", "#include <shmem.h>\n", r"its own folder only"),
                ("bench/a.c", '#include "core/base/log.h"\n', r"use the public headers")):
            with self.subTest(path=path, text=text):
                planted = self.plant(path, text)
                self.assert_found(expected, "floors")
                planted.unlink()

    def test_floors_of_the_composition_root(self):
        self.plant("core/api/a.c", '#include "core/runtime.h"\n')
        self.plant("core/parts.c", '#include "core/ops/rma.h"\n')
        self.assert_clean("floors")

    def compile(self, source, text):
        """Its object, where the build leaves it."""
        made = self.root / "build/core/CMakeFiles/isthmus_objects.dir" / f"{source.removeprefix('core/')}.o"
        made.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-c", "-o", str(made), str(self.plant(source, text))], check=True)

    def test_floors_of_calls(self):
        build = ("--build", str(self.root / "build"))
        self.compile("core/sync/wait.c", "void ist_put(void);\nvoid ist_wait(void) { ist_put(); }\n")
        self.compile("core/ops/rma.c", "void ist_put(void) {}\n")
        self.assert_clean("floors", *build)
        self.compile("core/ops/rma.c", "void ist_wait(void);\n\nvoid ist_put(void) { ist_wait(); }\n")
        self.assert_clean("floors")
        self.assert_found(r"core/ops/rma.c:1: uses ist_wait of core/sync/wait.c, which is above core/ops/", "floors",
                          *build)
        (self.root / "core/sync/wait.c").unlink()  # its object, left over from an earlier build, does not count
        self.assert_clean("floors", *build)
        shutil.rmtree(self.root / "build")
        self.assert_found("no objects of the core", "floors", *build)

    def test_floors_ignores_comments(self):
        self.plant("core/base/a.c", '/*\n#include "core/ops/rma.h"\n*/\n')
        self.assert_clean("floors")

    def test_tokens(self):
        self.assert_clean("tokens")
        for path, text in (
                ("core/ops/a.c", "static volatile int ready;"), ("plugins/ib/a.c", '__asm__("nop");'),
                ("core/ops/a.c", "int f(void) { return atomic_load(&x); }"), ("tools/a/a.c", "strcpy(a, b);"),
                ("core/sync/a.c", "usleep(10);"), ("core/sync/a.c", "pthread_cond_timedwait(c, l, t);"),
                ("core/heap/a.c", 'getenv("HOME");'), ("plugins/ib/a.c", "abort();"),
                ("plugins/ib/a.c", 'fprintf(stderr, "x");'), ("core/ops/a.c", "/* TODO later */"),
                ("tests/a.py", "# FIXME"), ("plugins/ib/a.c", 'setenv("A", "b", 1);')):
            with self.subTest(path=path, text=text):
                planted = self.plant(path, text + "\n")
                self.assert_found(rf"{re.escape(path)}:1: ", "tokens")
                planted.unlink()

    def test_tokens_exceptions(self):
        self.plant("core/ops/a.c", "static volatile int ready; /* TODO(#12) */\n")
        self.plant("tests/lint/allowed.txt", "tokens core/ops/a.c volatile a device register\n")
        self.assert_clean("tokens")
        self.plant("core/ops/a.c", "\n")
        self.assert_found("does not use 'volatile' any more", "tokens")
        self.plant("tests/lint/allowed.txt", "tokens core/ops/a.c volatile\n")
        self.assert_found("check path word reason", "tokens")

    def test_names(self):
        self.plant("core/topo/a.c", "int a[] = {ISTHMUS_MEM_CUDA, INADDR_LOOPBACK, library, the_zebra};\n")
        self.assert_clean("names")
        for text in ("void open_ib(void);", 'const char *wanted = "nvlink";', "struct UcxWorker *w;", "int n_hcas;"):
            with self.subTest(text=text):
                self.plant("core/topo/b.c", text + "\n")
                self.assert_found(r"core/topo/b.c:1: .* names (ib|nvlink|ucx|hcas)", "names")

    def test_names_of_files(self):
        self.plant("core/topo/rma.h", "\n")
        self.assert_found(r"core/topo/rma.h:1: core/ops/rma.h has the same name", "names")

    def test_parameters(self):
        seven = "int f(int a, int (*b)(int, int), char c[2], int d, int e, int f, int g)\n{\n    return a;\n}\n"
        self.plant("core/ops/a.c", "/* int f(a, b, c, d, e, f, g, h) { */\n" + seven)
        self.plant("core/ops/a.h", "int f(int a, int b, int c, int d, int e, int f, int g, int h);\n")
        self.plant("core/api/a.h", "void ist_entry_put(int a, int b, int c, int d, int e, int f, int g, int h) {}\n")
        self.assert_clean("parameters")
        eight = ("\nstatic int one(\n    int a, int b, int c, int d,\n    int e, int f, int g, int h)\n{\n"
                 "    return 1;\n}\n")
        for path in ("core/api/a.h", "plugins/ib/a.c", "tools/a/a.c"):
            with self.subTest(path=path):
                planted = self.plant(path, eight)
                self.assert_found(rf"{path}:2: one has 8 parameters; at most 7", "parameters")
                planted.unlink()

    def test_headers(self):
        self.assert_clean("headers")
        for path, text, expected in (
                ("core/ops/a.h", "#ifndef A_H\n#define A_H\nsize_t f(void);\n#endif\n", r"core/ops/a.h:1: .*gnu11"),
                ("core/ops/a.h", "enum { TWICE };\n", r"core/ops/a.h:1: .*gnu11"),
                ("include/isthmus/a.h", "#ifndef A_H\n#define A_H\nint f(int class);\n#endif\n",
                 r"isthmus/a.h:1: .*c\+\+17"),
                ("include/isthmus/a.h", "#ifndef A_H\n#define A_H\nstruct { int (*f[0])(); } a;\n#endif\n",
                 r"-std=c11")):
            with self.subTest(path=path, text=text):
                planted = self.plant(path, text)
                self.assert_found(expected, "headers")
                planted.unlink()

    def library(self, name, text, script=None):
        source = self.plant("lib.c", text)
        linker = [f"-Wl,--version-script={script}"] if script else []
        subprocess.run(["cc", "-shared", "-fPIC", "-o", str(self.root / name), str(source), *linker], check=True)
        return str(self.root / name)

    def test_symbols(self):
        script = self.plant("good.map", "{ global: shmem_init; isthmus_*; local: *; };\n")
        good = self.library("good.so", "int shmem_init, isthmus_a, hidden;\n", script)
        self.assert_clean("symbols", "--library", good, "--script", str(script))
        leak = self.library("leak.so", "int shmem_init, isthmus_a, ist_leak;\n")
        self.assert_found("exports ist_leak", "symbols", "--library", leak, "--script", str(script))
        longer = self.plant("longer.map", "{ global: shmem_init; isthmus_*; shmem_put; local: *; };\n")
        self.assert_found("lists shmem_put", "symbols", "--library", good, "--script", str(longer))
        self.assert_clean("symbols", "--plugin", self.library("ib.so", "int isthmus_transport_v1;\n"))
        two = self.library("two.so", "int isthmus_transport_v1, ib_leak;\n")
        self.assert_found("ib_leak", "symbols", "--plugin", two)

    def test_requirements(self):
        test = 'add_test({0} true)\nset_tests_properties({0} PROPERTIES LABELS "{1}")\n'
        more = test.format("pe.r7_mix.np2.run", "pe;thorough")
        tests = self.plant("build/CTestTestfile.cmake", more + test.format("pe.r7_mix.np3.run", "pe"))
        self.assert_clean("requirements", "--build", str(tests.parent))
        tests.write_text(more + test.format("litmus.MP", "litmus;R61"))
        self.assert_found("all tests of R7 have the label thorough", "requirements", "--build", str(tests.parent))

    def test_quotes(self):
        quoted = "<!-- quoted from core/base/log.h -->\n```c\n#define LOG_H\n{}\n```\n"
        self.plant("docs/a.md", quoted.format("#include <isthmus/transport.h>"))
        self.assert_clean("quotes")
        self.plant("docs/a.md", "# Text\n" + quoted.format("#include <shmem.h>"))
        self.assert_found(r"docs/a.md:2: what it quotes is not in core/base/log.h", "quotes")
        self.plant("docs/a.md", "<!-- quoted from core/none.c -->\n```c\n```\n")
        self.assert_found(r"docs/a.md:1: quotes core/none.c, which does not exist", "quotes")
        self.plant("docs/a.md", "")
        self.plant("include/isthmus/transport.h", "struct isthmus_data_ops {\n    int (*put)(int);\n};\n")
        self.plant("docs/writing-a-transport.md", "Of put:\n| `put` | |\n")
        self.assert_clean("quotes")
        self.plant("docs/writing-a-transport.md", "Of `put`\n")
        self.assert_found(r"writing-a-transport.md:0: has no row for the slot put", "quotes")

    def test_links(self):
        self.plant("docs/a.md", "# One & 2\n\n[b](b.md#part-1), [here](#one--2), `core/ops/rma.*`, `core/ops/X.h`\n")
        self.plant("docs/b.md", "## Part 1\n```sh\n# Part 2\ncat core/none\n```\n[web](https://host/docs/none.md)\n")
        self.assert_clean("links")
        for path, text, expected in (
                ("docs/c.md", "[b](c/b.md)\n", r"docs/c.md:1: links to c/b.md"),
                ("docs/c.md", "\n[b](b.md#part-2)\n", r"docs/c.md:2: links to the heading #part-2"),
                ("docs/c.md", "`core/ops/{rma,amo}.c`\n", r"docs/c.md:1: names core/ops/amo.c"),
                ("core/ops/a.c", "int a; /* see\n * core/ops/none.h */\n", r"core/ops/a.c:2: names core/ops/none.h"),
                ("tests/a.sh", "#!/bin/sh\n# docs/none.md\n", r"tests/a.sh:2: names docs/none.md")):
            with self.subTest(path=path, text=text):
                planted = self.plant(path, text)
                self.assert_found(expected, "links")
                planted.unlink()
        self.plant("docs/c.md", "`core/api/made.h`\n")
        self.plant("tests/lint/allowed.txt", "links docs/c.md core/api/made.h made\n")
        self.assert_clean("links")

    def test_english(self):
        self.assert_clean("english")
        for path, text, line in (
                ("core/ops/a.c", "int a; /* false: who was asked\n * is gone */\n", 1),
                ("README.md", "# Text\n\nAsk PE 0.\n", 3),
                ("tests/a.py", 'def f():\n    """Nobody calls this."""\n', 2),
                ("tests/a.py", "a = 1\nb = 2  # said once\n", 2),
                ("tests/a.sh", "#!/bin/sh\necho '#' \"'\" # tells the caller\n", 2),
                ("core/CMakeLists.txt", "# whoever\n", 1)):
            with self.subTest(path=path, text=text):
                planted = self.plant(path, text)
                self.assert_found(rf"(?m)^{re.escape(path)}:{line}: 1 times", "english")
                planted.unlink()

    def test_english_counts_no_code(self):
        self.plant("core/ops/a.c", '/* See ib_ask.h and tell(). */\nstatic const char *text = "who /* says */ so";\n')
        self.plant("README.md", "The script `who`:\n\n```\nask nobody\n```\n\n    tell somebody\n")
        self.plant("tests/a.py", 'TEXT = "who asked"\n')
        self.plant("tests/a.sh", "#!/usr/bin/tell\necho 'who # said it' ${#said}\n")
        self.assert_clean("english")

    def test_columns(self):
        fits, wide = "x" * 119 + "é\n", "\n" + "y" * 121 + "\n"
        for path in ("core/ops/a.c", "core/CMakeLists.txt", "include/a.h.in", "tests/a.py", "tests/a.sh", "docs/a.md",
                     ".ci/run", "dev"):
            with self.subTest(path=path):
                planted = self.plant(path, fits)
                self.assert_clean("columns")
                planted.write_text(wide)
                self.assert_found(rf"(?m)^{re.escape(path)}:2: 121 columns; at most 120", "columns")
                planted.unlink()

    def test_columns_of_tables_and_data(self):
        row = "y" * 121 + "\n"
        for path in ("core/base/a.def", "tests/pe/a_names.txt", "plugins/ib/a.ptx",
                     "tests/fuzz/corpus/a/b", "docs/bench/a.tsv", "docs/environment.md"):
            self.plant(path, row)
        self.plant("tests/lint/allowed.txt", f"names core/ops/a.c ib {row}")
        self.plant("docs/a.md", f"|{row}\n```\n{row}```\n\n    {row}")
        (self.root / "docs/a.png").write_bytes(b"\0" + row.encode())
        self.assert_clean("columns")
        self.plant("core/base/a.def", f"/* a */\n/* {row} */\n")
        self.plant("tests/pe/a_names.txt", f"# {row}")
        self.plant("docs/a.md", f"```\n{row}```\n{row}")
        status, output = self.run_check("columns")
        self.assertEqual(status, 1)
        self.assertEqual(re.findall(r"(?m)^(\S+):(\d+): ", output),
                         [("core/base/a.def", "2"), ("docs/a.md", "4"), ("tests/pe/a_names.txt", "1")])

    def test_english_has_limits(self):
        self.plant("docs/a.md", "word " * 2000 + "who\n")
        self.assert_clean("english")
        self.plant("docs/a.md", "word " * 2000 + "who\nnobody\n")
        self.assert_found(r"(?m)^docs/a.md:1: 2 times: who \(1\), nobody \(2\)", "english")

    def test_messages(self):
        self.plant("docs/messages.md", "| message | what to do |\n|---|---|\n"
                   "| `no memory for …` | free some |\n"
                   "| `NAME is 'VALUE'; valid: 1 to N`, `CALL: REASON` | correct it |\n")
        self.plant("core/ops/a.c",
                   'int a(void) { return ist_fail(1, "%s is \'%s\'; valid: "\n"1 to %" PRIu64, x, y, z); }\n'
                   'int b(void) { return c ? ist_fail_memory("the " "routes") : ist_fail_errno(2, "poll"); }\n'
                   'void d(void) { ist_log(3, "not for users: %d", 1); /* ist_fail(1, "in a comment"); */ }\n')
        self.assert_clean("messages")
        planted = self.plant("plugins/ib/a.c", '\n\nvoid e(void) { s->fail(s->core, 1, '
                                               'ok ? "no memory for %d" : "no adapter %s", 1); }\n')
        self.assert_found(r"plugins/ib/a.c:3: .*no row for this message: `no adapter VALUE`", "messages")
        planted.unlink()
        self.plant("docs/messages.md",
                   "| `no memory for …`, `NAME is 'VALUE'; valid: 1 to N` | |\n| `CALL: REASON` | |\n| `gone` | |\n")
        self.assert_found(r"docs/messages.md:3: no message of the sources is `gone`", "messages")

    def test_messages_of_the_checker(self):
        folder = "tools/isthmus-check-transport"
        self.plant(f"{folder}/case_a.c", 'void a(void) { CT_RULE("put", "put is exact", x == 1, "it put %d", x); }\n'
                   'void b(void) { CT_CHECK(f(1, 2), "byte %zu is wrong", i); }\n'
                   'void c(void) { static const char rule[] = "all is given back"; '
                   'CT_RULE(NULL, rule, y, "%d left", z); }\n')
        self.plant(f"{folder}/cases.def", 'CASE(a, 1, FIXED, "put", "every size, and no byte beside")\n')
        self.plant("docs/messages.md", "| `byte N is wrong` | |\n")
        found = "|".join(("put is exact", "it put VALUE", "byte VALUE is wrong", "all is given back", "VALUE left",
                          "every size, and no byte beside"))
        status, output = self.run_check("messages")
        self.assertEqual(6, len(re.findall(f"docs/findings.md has no row for this message: `(?:{found})`", output)),
                         output)
        self.assert_found(r"docs/messages.md:1: no message of the sources is `byte N is wrong`", "messages")
        self.plant("docs/messages.md", "")
        self.plant("docs/findings.md",
                   "| `every size, and no byte beside`<br>`byte N is wrong` | |\n| `put is exact`<br>`it put N` | |\n"
                   "| `all is given back`<br>`N left` | |\n")
        self.assert_clean("messages")
        self.plant(f"{folder}/options.c", 'int d(void) { return fprintf(stderr, "checker: %s is wrong\\n", x); }\n')
        self.assert_found(r"docs/messages.md has no row for this message: `checker: VALUE is wrong`", "messages")

    def test_format(self):
        shutil.copy(HERE.parents[1] / ".clang-format", self.root)
        self.plant("core/ops/a.c", "int   f( void ){return 1;}\n")
        status, output = self.run_check("format")
        if status == 77:
            self.skipTest(output)
        self.assertRegex(output, r"core/ops/a.c:1: not as .clang-format says")
        self.assertEqual(self.run_check("format", "--fix")[0], 0)
        self.assert_clean("format")

    def test_tidy(self):
        shutil.copy(HERE.parents[1] / ".clang-tidy", self.root)
        source = self.plant("core/ops/a.c", "int f(int a)\n{\n    return a == a;\n}\n")
        self.plant("compile_commands.json",
                   f'[{{"directory": "{self.root}", "file": "{source}", "command": "cc -c {source}"}}]')
        status, output = self.run_check("tidy", "--build", str(self.root))
        if status == 77:
            self.skipTest(output)
        self.assertEqual(status, 1, output)
        self.assertRegex(output, "misc-redundant-expression")


if __name__ == "__main__":
    unittest.main()
