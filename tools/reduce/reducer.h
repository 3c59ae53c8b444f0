// The search: keeps the smallest module known to show the failure, tries smaller ones, and has each
// improvement on disk before it goes on.
//
// A step (steps.h) proposes edits. Each is done on a copy, tidied (what nobody needs any more is
// removed) and verified before the test is asked; a text is asked about once. The same module,
// options and answers lead to the same result.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/ir/module.h"
#include "tools/reduce/failure.h"

namespace hlo {

struct ReducerOptions {
  std::string output;     // written at each improvement; "-": only at the end, by the caller
  int64_t max_tests = 0;  // 0: no limit
  int64_t jobs = 1;  // candidates that are asked about at the same time; the result is the same
  bool shows_progress = false;
};

// Changes a copy of the best module; false: there is nothing to change.
using Edit = std::function<bool(Module&)>;
// The same for some of a list of names.
using ChunkEdit = std::function<bool(Module&, std::span<const std::string>)>;

class Reducer {
 public:
  Reducer(std::unique_ptr<Module> module, FailureTest& test, ReducerOptions options);

  // Asks about the module as it was given; the answer says what was seen.
  Answer AskFirst();

  // The smallest module so far and its text.
  const Module& best() const { return *best_; }
  const std::string& best_text() const { return best_text_; }
  int64_t best_size() const { return best_->instruction_count(); }

  // Makes the edited module the best one if it shows the failure.
  bool Try(const Edit& edit) { return TryInOrder({edit}).has_value(); }
  // The same for the first of several that does; its place.
  std::optional<size_t> TryInOrder(const std::vector<Edit>& edits);
  // Whether tidying alone keeps the failure; if so, the best module is tidied.
  bool TryTidy();
  // Tries the edit with all names, then with halves, quarters and so on down to single ones; what
  // could be edited is taken off the list. Names of instructions that are gone are dropped when
  // `are_instructions`.
  bool TryChunks(std::vector<std::string> names, const ChunkEdit& edit,
                 bool are_instructions = true);
  // Finds the largest n in [0, limit] for which the edit is good, taking it that smaller ones are
  // good, too.
  bool TryLargest(int64_t limit, const std::function<bool(Module&, int64_t)>& edit);

  // Whether to stop: interrupted, out of tests, or the disk failed.
  bool is_done() const;
  const absl::Status& status() const { return status_; }
  void set_step(std::string_view step) { step_ = step; }

  int64_t tests() const { return tests_; }
  int64_t rejected() const { return rejected_; }  // not valid: never asked
  double seconds() const;
  // Takes the progress line off the terminal.
  void ClearProgress();

  // What tidying may do; found out at the start.
  void set_removes_dead(bool removes) { removes_dead_ = removes; }
  void set_removes_parameters(bool removes) { removes_parameters_ = removes; }

 private:
  void Tidy(Module& module) const;
  void Accept(std::unique_ptr<Module> module, std::string text);
  void ShowProgress();

  std::unique_ptr<Module> best_;
  std::string best_text_;
  FailureTest& test_;
  ReducerOptions options_;
  std::set<size_t> asked_;  // hashes of texts
  int64_t tests_ = 0;
  int64_t rejected_ = 0;
  int64_t first_size_ = 0;
  bool is_cancelled_ = false;
  bool removes_dead_ = true;
  bool removes_parameters_ = true;
  std::string_view step_;
  bool progress_shown_ = false;
  absl::Status status_;
  std::chrono::steady_clock::time_point start_;
};

// The text that candidates are asked about and that is written: reads back as the same module.
std::string ReducedText(const Module& module);

}  // namespace hlo
