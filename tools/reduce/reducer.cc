#include "tools/reduce/reducer.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/analysis/schedule.h"
#include "lib/ir/printer.h"
#include "lib/ir/verifier.h"
#include "lib/support/file.h"
#include "tools/reduce/edits.h"
#include "tools/support/tool_support.h"

namespace hlo {

std::string ReducedText(const Module& module) {
  PrintOptions print = PrintOptions::Default();
  print.large_constants = true;
  print.lossless = true;
  print.percent = false;
  print.program_shape = false;
  print.operand_index_interval = 0;
  print.syntax_sugar_async_ops = false;          // as hlo-opt
  print.layouts = !HasOnlyPlainLayouts(module);  // those are what the parser fills in
  return ToText(module, print);
}

Reducer::Reducer(std::unique_ptr<Module> module, FailureTest& test, ReducerOptions options)
    : best_(std::move(module)),
      test_(test),
      options_(std::move(options)),
      start_(std::chrono::steady_clock::now()) {
  best_text_ = ReducedText(*best_);
  first_size_ = best_size();
}

double Reducer::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

bool Reducer::is_done() const {
  return is_cancelled_ || !status_.ok() || (options_.max_tests > 0 && tests_ >= options_.max_tests);
}

Answer Reducer::AskFirst() {
  ++tests_;
  asked_.insert(std::hash<std::string>()(best_text_));
  Answer answer = test_.Ask(best_text_);
  is_cancelled_ = answer.is_cancelled;
  if (answer.shows_failure && options_.output != "-")
    status_ = WriteFile(options_.output, best_text_);
  return answer;
}

void Reducer::Tidy(Module& module) const {
  if (removes_dead_) RemoveDead(module);
  module.RemoveUnusedComputations();
  if (removes_parameters_) RemoveUnusedParameters(module);
  UpdateSchedules(module);
  module.Sweep();
  FitEntryLayout(module);
}

std::optional<size_t> Reducer::TryInOrder(const std::vector<Edit>& edits) {
  if (is_done()) return std::nullopt;
  struct Candidate {
    size_t place;
    std::unique_ptr<Module> module;
    size_t hash;  // of the text
  };
  std::vector<Candidate> candidates;
  std::vector<std::string> texts;
  std::set<size_t> hashes;
  for (size_t i = 0; i < edits.size(); ++i) {
    if (options_.max_tests > 0 && tests_ + static_cast<int64_t>(texts.size()) >= options_.max_tests)
      break;
    std::unique_ptr<Module> module = best_->Clone();
    if (!edits[i](*module)) continue;
    Tidy(*module);
    if (!Verify(*module).ok()) {
      ++rejected_;
      continue;
    }
    std::string text = ReducedText(*module);
    const size_t hash = std::hash<std::string>()(text);
    if (asked_.contains(hash) || !hashes.insert(hash).second) continue;
    candidates.push_back({i, std::move(module), hash});
    texts.push_back(std::move(text));
  }
  if (texts.empty()) return std::nullopt;
  ShowProgress();
  const std::vector<Answer> answers = test_.AskInOrder(texts);
  for (size_t k = 0; k < answers.size(); ++k) {
    ++tests_;
    asked_.insert(candidates[k].hash);
    is_cancelled_ = is_cancelled_ || answers[k].is_cancelled;
    if (!answers[k].shows_failure) continue;
    Accept(std::move(candidates[k].module), std::move(texts[k]));
    return candidates[k].place;
  }
  return std::nullopt;
}

bool Reducer::TryTidy() {
  const std::unique_ptr<Module> copy = best_->Clone();
  Tidy(*copy);
  return ReducedText(*copy) == best_text_ || Try([](Module&) { return true; });
}

void Reducer::Accept(std::unique_ptr<Module> module, std::string text) {
  best_ = std::move(module);
  best_text_ = std::move(text);
  if (options_.output != "-") status_ = WriteFile(options_.output, best_text_);
  ShowProgress();
}

bool Reducer::TryChunks(std::vector<std::string> names, const ChunkEdit& edit,
                        bool are_instructions) {
  bool has_improved = false;
  const auto drop_gone = [&] {
    if (!are_instructions) return;
    const std::set<std::string_view> there = InstructionNames(*best_);
    std::erase_if(names, [&](const std::string& name) { return !there.contains(name); });
  };
  for (size_t chunk = names.size(); chunk > 0 && !is_done();
       chunk = chunk == 1 ? 0 : (chunk + 1) / 2) {
    for (size_t begin = 0; begin < names.size() && !is_done();) {
      std::vector<std::span<const std::string>> chunks;
      std::vector<Edit> edits;
      for (size_t at = begin;
           at < names.size() && static_cast<int64_t>(edits.size()) < options_.jobs; at += chunk) {
        const std::span<const std::string> some(names.data() + at,
                                                std::min(chunk, names.size() - at));
        chunks.push_back(some);
        edits.emplace_back([&edit, some](Module& module) { return edit(module, some); });
      }
      const std::optional<size_t> good = TryInOrder(edits);
      if (!good.has_value()) {
        begin += chunks.size() * chunk;
        continue;
      }
      has_improved = true;
      begin += *good * chunk;
      names.erase(names.begin() + static_cast<std::ptrdiff_t>(begin),
                  names.begin() + static_cast<std::ptrdiff_t>(begin + chunks[*good].size()));
      drop_gone();
    }
  }
  return has_improved;
}

bool Reducer::TryLargest(int64_t limit, const std::function<bool(Module&, int64_t)>& edit) {
  const auto is_good = [&](int64_t n) {
    return Try([&](Module& module) { return edit(module, n); });
  };
  if (limit <= 0) return false;
  if (is_good(limit)) return true;
  int64_t good = 0, bad = limit;
  while (bad - good > 1 && !is_done()) {
    const int64_t middle = good + (bad - good) / 2;
    (is_good(middle) ? good : bad) = middle;
  }
  return good > 0;
}

void Reducer::ShowProgress() {
  if (!options_.shows_progress || seconds() < 1) return;
  progress_shown_ = true;
  WriteStderr(fmt::format("\r\033[K{} -> {} instructions, {} tests, {:.0f} s: {}", first_size_,
                          best_size(), tests_, seconds(), step_));
}

void Reducer::ClearProgress() {
  if (progress_shown_) WriteStderr("\r\033[K");
  progress_shown_ = false;
}

}  // namespace hlo
