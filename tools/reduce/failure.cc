#include "tools/reduce/failure.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/support/file.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "lib/support/temporary.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

// The line of a log that says what broke, without names and numbers: crashes of one kind have one.
std::string CrashKind(const ChildResult& result) {
  std::string line = fmt::format("signal {}", result.code);
  for (const std::string_view mark : {"check failed", "internal error", "terminate called",
                                      "runtime error", "SUMMARY:", "error:"}) {
    const size_t at = result.log.find(mark);
    if (at == std::string::npos) continue;
    const size_t newline = result.log.rfind('\n', at);
    const size_t begin = newline == std::string::npos ? 0 : newline + 1;
    line = result.log.substr(begin, result.log.find('\n', at) - begin);
    break;
  }
  std::string kind;
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '`') is_quoted = !is_quoted;
    if (!is_quoted && (c < '0' || c > '9')) kind += c;
  }
  return kind;
}

std::string FirstLines(const std::string& log, int count) {
  std::string out;
  for (std::string_view line : Split(log, '\n')) {
    if (line.empty() || count-- == 0) break;
    out += fmt::format("\n  {}", line);
  }
  return out;
}

// What a child did, in words.
std::string Describe(const ChildResult& result, double timeout) {
  switch (result.end) {
    case ChildResult::End::kTimedOut: return fmt::format("it took more than {} s", timeout);
    case ChildResult::End::kSignalled: return fmt::format("it ended with signal {}", result.code);
    case ChildResult::End::kCancelled: return "it was interrupted";
    case ChildResult::End::kNotStarted: return result.log;
    case ChildResult::End::kExited: break;
  }
  switch (result.code) {
    case kExitOk: return "nothing failed" + FirstLines(result.log, 1);
    case kExitMismatch: return "results differ:" + FirstLines(result.log, 3);
    case kExitInternal: return "an internal error:" + FirstLines(result.log, 3);
    default: return "an error:" + FirstLines(result.log, 3);
  }
}

}  // namespace

absl::StatusOr<FailureTest> FailureTest::Make(FailureOptions options,
                                              std::function<bool()> is_cancelled) {
  FailureTest test;
  ASSIGN_OR_RETURN(test.pipeline_, ParsePipeline(options.passes));
  if (options.kind == FailureKind::kError) {
    try {
      test.regex_ = std::regex(options.regex);
    } catch (const std::regex_error& error) {
      return Error("`--error` expects a regular expression, found `{}`: {}", options.regex,
                   error.what());
    }
  }
  test.options_ = std::move(options);
  test.is_cancelled_ = std::move(is_cancelled);
  return test;
}

namespace {

// The file in the place of `{}`, or after the words.
std::vector<std::string> WithFile(std::vector<std::string> words, const std::string& file) {
  bool has_place = false;
  for (std::string& word : words) {
    for (size_t at = 0; (at = word.find("{}", at)) != std::string::npos; at += file.size()) {
      word.replace(at, 2, file);
      has_place = true;
    }
  }
  if (!has_place) words.push_back(file);
  return words;
}

}  // namespace

Answer FailureTest::Ask(const std::string& text) { return AskInOrder({text})[0]; }

std::vector<Answer> FailureTest::AskInOrder(const std::vector<std::string>& texts) {
  // The tries of a text one after the other, as many at the same time as there are texts.
  const auto tries = static_cast<size_t>(options_.tries);
  std::vector<Answer> answers;
  for (size_t done = 0; done < texts.size() * tries;) {
    std::vector<const std::string*> some;
    for (size_t i = done; i < std::min(done + texts.size(), texts.size() * tries); ++i)
      some.push_back(&texts[i / tries]);
    for (const Answer& answer : RunEach(some, /*runs_all=*/false)) {
      const size_t text = done++ / tries;
      if (text == answers.size()) answers.emplace_back();
      if (!answer.seen.empty()) answers.back() = answer;
      if (answer.shows_failure || answer.is_cancelled) return answers;
    }
  }
  return answers;
}

int64_t FailureTest::CountHits(const std::string& text, int64_t jobs) {
  int64_t hits = 0;
  for (int64_t done = 0; done < options_.tries; done += jobs) {
    const std::vector<const std::string*> some(
        static_cast<size_t>(std::min(jobs, options_.tries - done)), &text);
    for (const Answer& answer : RunEach(some, /*runs_all=*/true)) hits += answer.shows_failure;
  }
  return hits;
}

std::vector<Answer> FailureTest::RunEach(const std::vector<const std::string*>& texts,
                                         bool runs_all) {
  const bool is_script = options_.kind == FailureKind::kScript;
  const CandidateRun run{
      &pipeline_,    limits_,        options_.platform, options_.kind == FailureKind::kMismatch,
      options_.seed, options_.seeds, options_.tolerance};
  std::vector<ChildWork> works;
  std::unique_ptr<TemporaryFolder> folder;  // for scripts
  for (const std::string* text : texts) {
    if (options_.kind == FailureKind::kCheck) {
      works.push_back(
          {[text, this] { return options_.check(*text) ? kExitMismatch : kExitOk; }, {}});
      continue;
    }
    if (!is_script) {
      works.push_back({[text, &run] { return RunCandidate(*text, run); }, {}});
      continue;
    }
    if (folder == nullptr) {
      auto made = TemporaryFolder::Make();
      if (!made.ok()) return {{false, false, std::string(ToStd(made.status().message()))}};
      folder = *std::move(made);
    }
    const std::string file = folder->In(fmt::format("hlo-reduce.{}.hlo", works.size()));
    if (const absl::Status status = WriteFile(file, *text); !status.ok())
      return {{false, false, std::string(ToStd(status.message()))}};
    works.push_back({nullptr, WithFile(options_.script, file)});
  }
  const auto answers_of = [&](const ChildResults& results) {
    std::vector<Answer> answers;
    for (const std::optional<ChildResult>& result : results) {
      if (!result.has_value()) break;
      answers.push_back(is_script ? JudgeScript(*result) : Judge(*result));
      if (answers.back().shows_failure && !runs_all) break;
    }
    return answers;
  };
  const ChildResults results = RunChildren(
      works, {options_.timeout, cpu_limit_, is_cancelled_}, [&](const ChildResults& so_far) {
        const std::vector<Answer> answers = answers_of(so_far);
        return !runs_all && !answers.empty() && answers.back().shows_failure;
      });
  // Edits make loops endless: what takes much longer than the whole module did never ends.
  if (cpu_limit_ == 0 && options_.learns_timeout && !is_script &&
      options_.kind != FailureKind::kHang)
    cpu_limit_ = 1 + 10 * results[0]->cpu_seconds;
  return answers_of(results);
}

void FailureTest::RunAside(const std::function<int()>& body) const {
  RunInChild(body, {options_.timeout, cpu_limit_, is_cancelled_});
}

Answer FailureTest::Judge(const ChildResult& result) {
  Answer answer;
  answer.is_cancelled = result.end == ChildResult::End::kCancelled;
  answer.seen = Describe(result, options_.timeout);
  const bool has_exited = result.end == ChildResult::End::kExited;
  switch (options_.kind) {
    case FailureKind::kCrash: {
      const bool is_crash = result.end == ChildResult::End::kSignalled ||
                            (has_exited && result.code == kExitInternal);
      if (!is_crash) break;
      const std::string kind = CrashKind(result);
      if (crash_kind_.empty()) crash_kind_ = kind;
      answer.shows_failure = kind == crash_kind_;
      break;
    }
    case FailureKind::kError:
      answer.shows_failure = has_exited && result.code != kExitOk &&
                             result.code != kExitNotReadable &&
                             std::regex_search(result.log, regex_);
      break;
    case FailureKind::kMismatch:
      answer.shows_failure = has_exited && result.code == kExitMismatch;
      break;
    case FailureKind::kHang:
      answer.shows_failure = result.end == ChildResult::End::kTimedOut;
      break;
    case FailureKind::kCheck:
      answer.shows_failure = options_.check_dies ? !has_exited && !answer.is_cancelled
                                                 : has_exited && result.code == kExitMismatch;
      break;
    case FailureKind::kScript: break;
  }
  return answer;
}

Answer FailureTest::JudgeScript(const ChildResult& result) const {
  Answer answer;
  answer.is_cancelled = result.end == ChildResult::End::kCancelled;
  const bool has_exited = result.end == ChildResult::End::kExited;
  const bool could_run = !(has_exited && result.code == 127);
  answer.seen = has_exited
                    ? fmt::format("`{}` ended with exit code {}{}", Join(options_.script, " "),
                                  result.code, FirstLines(result.log, 3))
                    : Describe(result, options_.timeout);
  answer.shows_failure =
      has_exited && could_run && (result.code != 0) == options_.script_fails_on_bug;
  return answer;
}

std::string FailureTest::Wanted() const {
  const std::string by =
      options_.platform.empty() ? "the passes" : fmt::format("platform `{}`", options_.platform);
  switch (options_.kind) {
    case FailureKind::kCrash: return fmt::format("a crash of {}", by);
    case FailureKind::kError:
      return fmt::format("an error of {} that matches `{}`", by, options_.regex);
    case FailureKind::kMismatch:
      return options_.platform.empty()
                 ? "results that the passes change"
                 : fmt::format("results of {} that differ from the interpreter's", by);
    case FailureKind::kHang:
      return fmt::format("that {} take more than {} s", by, options_.timeout);
    case FailureKind::kCheck: return "what was found";
    case FailureKind::kScript:
      return fmt::format("an exit code {}0 of `{}`",
                         options_.script_fails_on_bug ? "other than " : "",
                         Join(options_.script, " "));
  }
  return "";
}

std::string FailureTest::CommandFor(const std::string& path) const {
  std::vector<std::string> words;
  if (options_.kind == FailureKind::kScript) {
    words = WithFile(options_.script, path);
  } else if (options_.platform.empty()) {
    words = {"hlo-opt", path, "--passes=" + options_.passes};
    if (options_.kind == FailureKind::kMismatch) {
      words.push_back(options_.seeds == 1 ? "--check-equivalence"
                                          : fmt::format("--check-equivalence={}", options_.seeds));
      if (options_.seed != kDefaultSeed) words.push_back(fmt::format("--seed={}", options_.seed));
    }
  } else {
    words = {"hlo-run", path, "--platform=" + options_.platform,
             fmt::format("--seed={}", options_.seed)};
    if (options_.kind == FailureKind::kMismatch) words.push_back("--reference=interpreter");
    if (!options_.passes.empty()) words.push_back("--passes=" + options_.passes);
    if (options_.tolerance) {
      words.push_back(fmt::format("--abs={}", options_.tolerance->abs));
      words.push_back(fmt::format("--rel={}", options_.tolerance->rel));
      words.push_back(fmt::format("--ulps={}", options_.tolerance->ulps));
    }
  }
  for (std::string& word : words) word = ShellQuoted(word);
  return Join(words, " ");
}

}  // namespace hlo
