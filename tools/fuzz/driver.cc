#include "tools/fuzz/driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>

#include "lib/support/file.h"
#include "lib/support/hash.h"
#include "lib/support/status.h"
#include "tools/fuzz/coverage.h"
#include "tools/fuzz/mutate.h"
#include "tools/fuzz/reduce_finding.h"
#include "tools/fuzz/seeds.h"

// In builds with the leak checker.
extern "C" __attribute__((weak)) int __lsan_do_recoverable_leak_check();

namespace hlo {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kRunsPerLeakCheck = 20000;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string FileName(std::string_view input) { return fmt::format("{:016x}", HashBytes(input)); }

// What a child does: works through the seeds, then changes what it has.
class Worker {
 public:
  Worker(const FuzzMode& mode, const FuzzOptions& options, SharedState& state,
         const std::vector<std::string>& seeds, uint64_t seed)
      : mode_(mode), options_(options), state_(state), random_(seed) {
    for (const std::string& input : seeds) {
      if (!state_.IsKnown(HashBytes(input)) && !Try(input, /*is_seed=*/true)) return;
    }
    if (!options_.distill.empty()) return;
    if (corpus_.empty()) corpus_.emplace_back();
    while (!Enough()) {
      if (!Try(NextInput(), /*is_seed=*/false)) return;
      if (state_.runs.load() % kRunsPerLeakCheck == 0 && !CheckLeaks()) return;
    }
    CheckLeaks();
  }

 private:
  bool Enough() const {
    return options_.runs > 0 && state_.runs.load() >= static_cast<uint64_t>(options_.runs);
  }

  std::string NextInput() {
    if (mode_.generate != nullptr && random_.Below(8) >= 8 - mode_.generated_of_eight)
      return mode_.generate(random_);
    const std::string& input = Choose();
    return Mutate(input, Choose(), static_cast<size_t>(options_.max_length), random_);
  }

  // New inputs are tried more often.
  const std::string& Choose() {
    if (corpus_.size() > 200 && random_.OneIn(3))
      return corpus_[corpus_.size() - 1 - random_.Below(100)];
    return random_.Pick(corpus_);
  }

  // False when something new was found.
  bool Try(const std::string& input, bool is_seed) {
    state_.Begin(input);
    StartCoverage();
    const std::string finding = mode_.check(input);
    const bool fresh = TakeNewCoverage();
    if (!finding.empty()) {
      if (!state_.IsKnown(HashBytes(KindOfFinding(finding)))) {
        state_.SetFinding(finding);
        return false;
      }
      state_.repeats.fetch_add(1);
      return true;
    }
    if (fresh && !options_.distill.empty())
      WriteFile(options_.distill + "/" + FileName(input), input).IgnoreError();
    if (!is_seed && !fresh) return true;
    corpus_.push_back(input);
    state_.corpus.store(corpus_.size());
    state_.edges.store(CoverageCount());
    if (!is_seed && !options_.corpus.empty()) {
      // A corpus that cannot be written is no reason to stop.
      WriteFile(options_.corpus + "/" + FileName(input), input).IgnoreError();
    }
    return true;
  }

  bool CheckLeaks() {
    if (__lsan_do_recoverable_leak_check == nullptr || __lsan_do_recoverable_leak_check() == 0)
      return true;
    state_.SetFinding(fmt::format("leak: in one of the last {} runs", kRunsPerLeakCheck));
    return false;
  }

  const FuzzMode& mode_;
  const FuzzOptions& options_;
  SharedState& state_;
  FuzzRandom random_;
  std::vector<std::string> corpus_;
};

// Programs that a mode makes are as long as they get, also above the length of changed inputs.
constexpr size_t kLongestProgram = 1 << 20;

// What the parent knows: findings by kind, and when to stop.
class Campaign {
 public:
  Campaign(const FuzzMode& mode, const FuzzOptions& options, SharedState& state)
      : mode_(mode), options_(options), state_(state), start_(Now()), reported_(start_) {}

  bool Continue() {
    if (Now() - reported_ >= 30) Progress();
    return options_.seconds <= 0 || Now() - start_ < options_.seconds;
  }
  bool Enough() const {
    return options_.runs > 0 && state_.runs.load() >= static_cast<uint64_t>(options_.runs);
  }

  void Record(const std::string& finding) {
    const std::string input =
        mode_.pin == nullptr ? std::string(state_.input()) : mode_.pin(state_.input());
    const std::string kind = KindOfFinding(finding);
    state_.AddKnown(HashBytes(kind));
    state_.AddKnown(HashBytes(state_.input()));  // if it is a seed, the next child leaves it out
    if (++kinds_[kind] > kArtifactsPerKind) return;
    fmt::print(stderr, "finding: {}\n", finding.substr(0, 4000));
    if (options_.artifacts.empty()) {
      fmt::print(stderr, "input:\n{}\n", input);
      return;
    }
    const std::string path =
        fmt::format("{}/{}-{}.hlo", options_.artifacts, mode_.name, FileName(input));
    WriteFile(path, input).IgnoreError();
    const std::string more = mode_.describe == nullptr ? "" : mode_.describe(input);
    WriteFile(path + ".txt", finding + "\n" + more).IgnoreError();
    fmt::print(stderr, "input written to {}\n", path);
    if (options_.reduce_seconds <= 0 || mode_.generate == nullptr) return;
    const std::string small = path + ".small";
    const std::string reduced =
        ReduceFinding(mode_, input, finding, small, options_.reduce_seconds);
    if (!reduced.empty()) WriteFile(small, reduced).IgnoreError();
  }

  int Close() {
    Progress();
    for (const auto& [kind, count] : kinds_) fmt::print(stderr, "{} x {}\n", count, kind);
    return static_cast<int>(kinds_.size());
  }

 private:
  static constexpr int kArtifactsPerKind = 3;

  void Progress() {
    reported_ = Now();
    const double seconds = reported_ - start_;
    fmt::print(stderr, "{:.0f} s: {} runs ({:.0f} per second), {} edges, {} inputs, {} findings\n",
               seconds, state_.runs.load(),
               static_cast<double>(state_.runs.load()) / std::max(seconds, 1e-3),
               state_.edges.load(), state_.corpus.load(), kinds_.size());
    std::fflush(stderr);
  }

  const FuzzMode& mode_;
  const FuzzOptions& options_;
  SharedState& state_;
  double start_, reported_;
  std::map<std::string, int> kinds_;
};

absl::Status MakeFolders(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return Error("cannot make the folder `{}`: {}", path, error.message());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> Fuzz(const FuzzMode& mode, const FuzzOptions& options) {
  std::vector<std::string> paths = options.seeds;
  for (const std::string& folder : {options.corpus, options.artifacts, options.distill}) {
    if (!folder.empty()) RETURN_IF_ERROR(MakeFolders(folder));
  }
  if (!options.corpus.empty()) paths.push_back(options.corpus);
  SharedState* state =
      SharedState::Create(std::max(kLongestProgram, static_cast<size_t>(options.max_length)));
  if (state == nullptr) return Error("no memory to share with the child processes");
  Campaign campaign(mode, options, *state);
  for (uint64_t child = 0; campaign.Continue() && !campaign.Enough(); ++child) {
    ASSIGN_OR_RETURN(std::vector<std::string> seeds,
                     ReadSeeds(paths, static_cast<size_t>(options.max_length)));
    if (!options.distill.empty()) {
      std::stable_sort(seeds.begin(), seeds.end(), [](const std::string& a, const std::string& b) {
        return a.size() < b.size();
      });
    }
    const std::string finding = RunChild(
        *state, options.limits,
        [&] { Worker(mode, options, *state, seeds, options.seed + (child << 32)); },
        [&] { return campaign.Continue(); });
    // A machine that stood still meanwhile charges that time to whoever ran.
    const bool was_slow = finding.starts_with(kSlow);
    if (was_slow && !CheckOnce(mode, options, state->input()).starts_with(kSlow)) continue;
    if (!finding.empty()) {
      campaign.Record(finding);
    } else if (!options.distill.empty()) {
      break;  // all seeds are done
    }
  }
  return campaign.Close();
}

std::string CheckOnce(const FuzzMode& mode, const FuzzOptions& options, std::string_view input) {
  SharedState* state = SharedState::Create(input.size());
  if (state == nullptr) return "memory: none to share with the child process";
  const auto body = [&] {
    state->Begin(input);
    state->SetFinding(mode.check(input));
  };
  return RunChild(*state, options.limits, body, [] { return true; });
}

namespace {

class Minimizer {
 public:
  Minimizer(const FuzzMode& mode, const FuzzOptions& options, const std::string& input)
      : mode_(mode), options_(options), best_(input), end_(Now() + options.seconds) {
    kind_ = KindOfFinding(CheckOnce(mode, options, input));
  }

  std::string Run() {
    if (kind_.empty()) return best_;
    for (size_t before = best_.size() + 1; best_.size() < before && InTime();) {
      before = best_.size();
      Shrink([](std::string_view text) {
        std::vector<TextToken> lines;
        for (size_t at = 0; at < text.size();) {
          const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
          lines.push_back({at, end});
          at = end;
        }
        return lines;
      });
      Shrink(Tokenize);
    }
    Shrink([](std::string_view text) {
      std::vector<TextToken> bytes;
      for (size_t at = 0; at < text.size(); ++at) bytes.push_back({at, at + 1});
      return bytes;
    });
    return best_;
  }

 private:
  bool InTime() const { return Now() < end_; }

  // Leaves out runs of pieces, long ones first.
  template <class Split>
  void Shrink(Split&& split) {
    for (size_t run = std::max<size_t>(split(best_).size() / 2, 1); InTime(); run = (run + 1) / 2) {
      for (size_t first = 0; InTime();) {
        const std::vector<TextToken> pieces = split(best_);
        if (first >= pieces.size()) break;
        const size_t last = std::min(first + run, pieces.size()) - 1;
        std::string candidate = best_;
        candidate.erase(pieces[first].begin, pieces[last].end - pieces[first].begin);
        if (KindOfFinding(CheckOnce(mode_, options_, candidate)) == kind_) {
          best_ = std::move(candidate);
        } else {
          first += run;
        }
      }
      if (run == 1) break;
    }
  }

  const FuzzMode& mode_;
  const FuzzOptions& options_;
  std::string best_;
  std::string kind_;
  double end_;
};

}  // namespace

std::string Minimize(const FuzzMode& mode, const FuzzOptions& options, const std::string& input) {
  return Minimizer(mode, options, input).Run();
}

}  // namespace hlo
