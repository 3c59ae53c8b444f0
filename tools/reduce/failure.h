// The failure that a reduced module must still show, and how a module is asked whether it does.
//
// Every question is answered by a child process that reads the module's text, as a user would give
// it to hlo-opt or hlo-run: what crashes or hangs there is an answer.
#pragma once

#include <functional>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/types/literal_compare.h"
#include "passes/pipeline.h"
#include "tools/reduce/candidate_run.h"
#include "tools/reduce/child_runs.h"
#include "tools/support/random_arguments.h"

namespace hlo {

enum class FailureKind : char {
  kCrash,     // a signal or an internal error
  kError,     // an error whose message holds a regular expression
  kMismatch,  // results differ
  kHang,      // takes longer than the time limit
  kScript,    // a program says so
  kCheck,     // a function of the caller says so, or the process that runs it dies
};

struct FailureOptions {
  FailureKind kind = FailureKind::kCrash;
  std::string regex;                // of kError
  std::vector<std::string> script;  // of kScript: the program and its first arguments
  bool script_fails_on_bug = false;
  // Of kCheck: called in a child process; whether a text shows the failure.
  std::function<bool(const std::string&)> check;
  bool check_dies = false;  // the failure is that the child does not return from it
  std::string passes;
  std::string platform;
  uint64_t seed = kDefaultSeed;
  int64_t seeds = 1;
  std::optional<Tolerance> tolerance;
  double timeout = 60;         // seconds for one question
  int64_t tries = 1;           // a text shows the failure if any of so many runs of it does
  bool learns_timeout = true;  // later questions may take no more than some times the first's
};

// The answer to one question.
struct Answer {
  bool shows_failure = false;
  bool is_cancelled = false;
  std::string seen;  // what happened, for people
};

class FailureTest {
 public:
  // Checks the options; `is_cancelled` is asked while a child runs. An error has its place in the
  // text of --passes.
  static absl::StatusOr<FailureTest> Make(FailureOptions options,
                                          std::function<bool()> is_cancelled);

  // Asks about a text. The first crash seen is the one looked for from then on: other ones do not
  // count.
  Answer Ask(const std::string& text);
  // Asks about several texts at the same time: the answers in order up to the first that shows the
  // failure. Ask comes first.
  std::vector<Answer> AskInOrder(const std::vector<std::string>& texts);
  // From now on only so much of the passes is run.
  void set_limits(const PassLimits& limits) { limits_ = limits; }
  // How many of FailureOptions::tries runs of a text show the failure, `jobs` of them at a time.
  int64_t CountHits(const std::string& text, int64_t jobs);
  // Runs something else in a child, within the same limits.
  void RunAside(const std::function<int()>& body) const;
  const Pipeline& pipeline() const { return pipeline_; }
  // What is looked for: "a crash".
  std::string Wanted() const;
  // The command that shows the failure of a file.
  std::string CommandFor(const std::string& path) const;

 private:
  // A run of each text; up to the first that shows the failure, or of all of them.
  std::vector<Answer> RunEach(const std::vector<const std::string*>& texts, bool runs_all);
  Answer Judge(const ChildResult& result);
  Answer JudgeScript(const ChildResult& result) const;

  FailureOptions options_;
  Pipeline pipeline_;
  PassLimits limits_;
  std::regex regex_;
  std::function<bool()> is_cancelled_;
  std::string crash_kind_;  // of the first crash
  double cpu_limit_ = 0;    // seconds; learnt from the first question
};

}  // namespace hlo
