// Answers about a module that several passes ask for, and that outlive the pass that asked first.
//
//   SideEffects& effects = context.analyses().Get<SideEffects>(module);
//
// The first question makes the analysis, the next ones get the same object, in later passes, too.
// A pass that changed the module makes all of them void but those that its class declares to keep:
//
//   static constexpr AnalysisSet kPreserves = AnalysisSet::Of<SideEffects>();
//
// A pass that changed nothing keeps everything. With --check-analyses every question is asked
// before each pass, and the answers that were kept are compared with new ones after it; a wrong one
// is an error that names the pass.
//
// A new analysis is an entry of AnalysisTypes and a class of lib/analysis with `kName`, a
// constructor that takes the module or nothing, `AskAll(module)` and `Mistake(module)`. One that
// is made of another names it, `using Over = Values;`, and takes that; it is void without it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "lib/analysis/alias.h"
#include "lib/analysis/call_graph.h"
#include "lib/analysis/live_range.h"
#include "lib/analysis/liveness.h"
#include "lib/analysis/reachability.h"
#include "lib/analysis/side_effects.h"
#include "lib/analysis/values.h"
#include "lib/ir/module.h"

namespace hlo {

using AnalysisTypes =
    std::tuple<AliasSets, CallGraph, LiveRanges, Liveness, Reachabilities, SideEffects, Values>;

namespace internal {
template <class A, class... All>
constexpr uint32_t AnalysisBit(const std::tuple<All...>*) {
  static_assert((std::is_same_v<A, All> || ...), "not in AnalysisTypes");
  uint32_t bit = 0;
  uint32_t at = 1;
  ((bit |= std::is_same_v<A, All> ? at : 0, at <<= 1), ...);
  return bit;
}
}  // namespace internal

class AnalysisSet {
 public:
  constexpr AnalysisSet() = default;  // none
  template <class... A>
  static constexpr AnalysisSet Of() {
    AnalysisSet set;
    set.bits_ = (internal::AnalysisBit<A>(static_cast<AnalysisTypes*>(nullptr)) | ... | 0u);
    return set;
  }
  static constexpr AnalysisSet All() {
    AnalysisSet set;
    set.bits_ = ~0u;
    return set;
  }
  template <class A>
  constexpr bool Has() const {
    return (bits_ & Of<A>().bits_) != 0;
  }

 private:
  uint32_t bits_ = 0;
};

// What is known of one module at a time.
class Analyses {
 public:
  // A reference ends with the next Forget.
  template <class A>
  A& Get(const Module& module) {
    if (module_ != &module) {
      Forget();
      module_ = &module;
    }
    std::unique_ptr<A>& known = std::get<std::unique_ptr<A>>(known_);
    if (known == nullptr) {
      ++made_;
      if constexpr (requires { typename A::Over; }) {
        known = std::make_unique<A>(Get<typename A::Over>(module));
      } else if constexpr (std::is_constructible_v<A, const Module&>) {
        known = std::make_unique<A>(module);
      } else {
        known = std::make_unique<A>();
      }
    }
    return *known;
  }

  // Makes all void but `kept`.
  void Forget(AnalysisSet kept = {});
  // Makes every analysis and asks it everything.
  void AskAll(const Module& module);
  // The first wrong answer about `module`: "`side-effects`: computation `c` …"; empty if none is.
  std::string FirstMistake(const Module& module) const;
  // The names of what is known, for those who watch: "call-graph, side-effects".
  std::string Known() const;
  // How often an analysis was made rather than found.
  int64_t made() const { return made_; }

 private:
  template <class T>
  struct Pointers;
  template <class... A>
  struct Pointers<std::tuple<A...>> {
    using Type = std::tuple<std::unique_ptr<A>...>;
  };

  const Module* module_ = nullptr;
  Pointers<AnalysisTypes>::Type known_;
  int64_t made_ = 0;
};

}  // namespace hlo
