// Programs of XLA as names of hlo-run: a link of such a name takes the flags that scripts give it.
//
//   run_hlo_module      compares with the interpreter; several files; exit code 0 or 255
//   hlo_runner_main     runs and prints nothing; --hlo_argument_mode=…, --device_type=host
//   test_correctness    and cpu_, gpu_, triton_test_correctness: files that are compared
//
// Flags that hlo-run has, too, are passed on; others are put in its words or, where they mean
// nothing here, left out.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace hlo {

struct OldCommand {
  bool is_run_hlo_module = false;  // says what it does, in that program's words
  std::vector<std::string> words;  // flags of hlo-run
  std::vector<std::string> files;
  int64_t iterations = 1;  // runs of each file, each with inputs from another seed
  int64_t seed = 42;       // of the first one
  std::string platform = "cpu", reference;
};

// Whether a program of this path is called by a name of XLA.
bool IsOldName(std::string_view path);
// An error names a flag that cannot be had here, and what there is in its place.
absl::StatusOr<OldCommand> ReadOldCommand(std::string_view path,
                                          const std::vector<std::string>& words);
// Calls `run` with the words of hlo-run for each file and iteration; goes on after a failure.
// Returns 0, or what the program of this name ends with: 255, or the code of the first failure.
int RunOldCommand(const OldCommand& command,
                  const std::function<int(const std::vector<std::string>& words)>& run);

}  // namespace hlo
