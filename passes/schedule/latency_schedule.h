// The instructions of one computation in an order that hides what runs in the background, for
// `latency-hiding-scheduler`: a list scheduler with a clock and an account of memory.
//
// What is ready runs in this order: a start; what a start waits for; other work, as it stood; last
// a done whose operation is still under way by the clock, the one that ends first. Nothing runs
// that would need more than the limit, while there is something that does not.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lib/analysis/async_overlap.h"
#include "lib/analysis/values.h"
#include "lib/ir/module.h"

namespace hlo {

class LatencySchedule {
 public:
  struct Order {
    std::vector<Instruction*> sequence;
    int64_t peak_bytes = 0;  // of values made here and by what is called
    double seconds = 0;      // by the clock
  };

  // `given`: an order that is right. `inside`: bytes that an instruction needs for what it calls.
  // `has_effect`: such instructions stay in the order in which they stand.
  LatencySchedule(std::vector<Instruction*> given, const Values& values, const Durations& durations,
                  const std::function<int64_t(const Instruction&)>& inside,
                  const std::function<bool(const Instruction&)>& has_effect);

  // The order that was given, and the one that this class is for.
  Order Given() const;
  Order Hiding(int64_t limit_bytes) const;
  bool HasPairs() const { return has_pairs_; }

 private:
  using Number = uint32_t;  // the place in the given order
  static constexpr Number kNone = ~Number{0};
  struct Node {
    std::vector<Number> needs, waiting;  // before it, after it; each once
    std::vector<Number> makes, reads;    // values
    double seconds = 0;
    double background = 0;        // of a start
    Number start = kNone;         // of a done: its start, if that is in the same computation
    bool is_start = false;        // of a done in this computation
    bool leads_to_start = false;  // or is one
    int64_t inside = 0;
  };
  struct State;

  void FindNeeds(const std::function<bool(const Instruction&)>& has_effect);
  void FindPairs(const Durations& durations);
  void FindValues(const Values& values);
  int64_t Made(Number i) const;
  int64_t Needed(Number i) const;  // while it runs; what is called makes what it returns
  Number Choose(State& state, int64_t limit_bytes) const;
  void Run(State& state, Number i) const;

  std::vector<Instruction*> given_;
  std::vector<Node> nodes_;
  std::vector<int64_t> bytes_;     // by value
  std::vector<uint32_t> readers_;  // by value, the end of the computation included
  bool has_pairs_ = false;
};

}  // namespace hlo
