/* tests/sycl/bundle.hpp: kernels in SYCL from a source file, compiled while the program runs. */
#ifndef TESTS_SYCL_BUNDLE_HPP
#define TESTS_SYCL_BUNDLE_HPP

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <sycl/sycl.hpp>
#include <vector>

namespace experimental = sycl::ext::oneapi::experimental;
using bundle_t = sycl::kernel_bundle<sycl::bundle_state::executable>;

/* options: that compiler's. Ends the program if the source is wrong. */
static bundle_t compile(const sycl::queue &q, const char *path, std::vector<std::string> options)
{
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    auto source = experimental::create_kernel_bundle_from_source(q.get_context(), experimental::source_language::sycl,
                                                                 text.str());
    std::string log;
    try {
        return experimental::build(
            source, experimental::properties{experimental::build_options{options}, experimental::save_log{&log}});
    } catch (const sycl::exception &error) {
        fprintf(stderr, "%s: %s\n%s\n", path, error.what(), log.c_str());
        exit(1);
    }
}

#endif
