// Speed and memory of the parser and the printer on one file; used by scripts/bench_parse.py.
//
//   hlo_parse_bench FILE [REPEATS]      prints JSON: bytes, parse_ms, print_ms (medians), peak_bytes above the text
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "lib/ir/printer.h"
#include "lib/support/diagnostic.h"
#include "lib/support/file.h"
#include "parser/parser.h"

namespace {

double Milliseconds() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int64_t PeakBytes() {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: hlo_parse_bench FILE [REPEATS]\n");
    return 2;
  }
  absl::StatusOr<std::string> text = hlo::ReadFile(argv[1]);
  if (!text.ok()) {
    std::fprintf(stderr, "%s", hlo::Render(text.status(), nullptr).c_str());
    return 1;
  }
  const int repeats = argc == 3 ? std::max(1, std::atoi(argv[2])) : 9;
  const auto source = std::make_shared<const hlo::Source>(argv[1], *std::move(text));
  const int64_t before = PeakBytes();
  int64_t peak = 0;
  std::vector<double> parse, print;
  size_t printed = 0;
  for (int i = 0; i < repeats; ++i) {
    const double start = Milliseconds();
    const auto module = hlo::ParseModule(source);
    parse.push_back(Milliseconds() - start);
    if (!module.ok()) {
      std::fprintf(stderr, "%s", hlo::Render(module.status(), source.get()).c_str());
      return 1;
    }
    if (i == 0) peak = PeakBytes() - before;
    const double middle = Milliseconds();
    printed = hlo::ToText(**module).size();
    print.push_back(Milliseconds() - middle);
  }
  std::printf(
      "{\"bytes\": %zu, \"printed_bytes\": %zu, \"parse_ms\": %.3f, \"print_ms\": %.3f, "
      "\"peak_bytes\": %lld, \"repeats\": %d}\n",
      source->text().size(), printed, Median(parse), Median(print), static_cast<long long>(peak),
      repeats);
  return 0;
}
