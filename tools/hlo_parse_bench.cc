// Speed and memory of the parser, the printer and the verifier on one file; used by
// scripts/bench_parse.py.
//
//   hlo_parse_bench FILE [REPEATS]
//
// prints JSON: bytes of the text and of its constants, instructions; parse_ms, print_ms (large
// constants in full), verify_ms: medians of processor time, which other processes change little;
// peak_bytes: what parsing took above the text.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "lib/ir/printer.h"
#include "lib/ir/verifier.h"
#include "lib/support/diagnostic.h"
#include "lib/support/file.h"
#include "parser/parser.h"

namespace {

double Milliseconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Of this program only: what getrusage says may be the peak of the program that started it.
int64_t PeakBytes() {
  std::ifstream file("/proc/self/status");
  std::string word;
  int64_t kilobytes = 0;
  while (file >> word) {
    if (word == "VmHWM:" && file >> kilobytes) break;
  }
  return kilobytes * 1024;
}

int64_t ConstantBytes(const hlo::Module& module) {
  int64_t bytes = 0;
  for (const hlo::Computation* computation : module.computations()) {
    for (const hlo::Instruction* instruction : computation->instructions()) {
      if (instruction->IsConstant()) bytes += instruction->shape().byte_size();
    }
  }
  return bytes;
}

int Fail(const absl::Status& status, const hlo::Source* source) {
  std::fprintf(stderr, "%s", hlo::Render(status, source).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: hlo_parse_bench FILE [REPEATS]\n");
    return 2;
  }
  absl::StatusOr<std::string> text = hlo::ReadFile(argv[1]);
  if (!text.ok()) return Fail(text.status(), nullptr);
  const int repeats = argc == 3 ? std::max(1, std::atoi(argv[2])) : 9;
  const auto source = std::make_shared<const hlo::Source>(argv[1], *std::move(text));
  const int64_t before = PeakBytes();
  int64_t peak = 0, data = 0, instructions = 0;
  size_t printed = 0;
  std::vector<double> parse, print, verify;
  hlo::PrintOptions options;
  options.large_constants = true;
  for (int i = 0; i < repeats; ++i) {
    const double start = Milliseconds();
    const auto module = hlo::ParseModule(source);
    parse.push_back(Milliseconds() - start);
    if (!module.ok()) return Fail(module.status(), source.get());
    if (i == 0) {
      peak = PeakBytes() - before;
      data = ConstantBytes(**module);
      instructions = (*module)->instruction_count();
    }
    const double middle = Milliseconds();
    printed = hlo::ToText(**module, options).size();
    print.push_back(Milliseconds() - middle);
    const double last = Milliseconds();
    if (const absl::Status status = hlo::Verify(**module); !status.ok())
      return Fail(status, source.get());
    verify.push_back(Milliseconds() - last);
  }
  std::printf(
      "{\"bytes\": %zu, \"data_bytes\": %lld, \"instructions\": %lld, \"printed_bytes\": %zu, "
      "\"parse_ms\": %.3f, \"print_ms\": %.3f, \"verify_ms\": %.3f, \"peak_bytes\": %lld, "
      "\"repeats\": %d}\n",
      source->text().size(), static_cast<long long>(data), static_cast<long long>(instructions),
      printed, Median(parse), Median(print), Median(verify), static_cast<long long>(peak), repeats);
  return 0;
}
