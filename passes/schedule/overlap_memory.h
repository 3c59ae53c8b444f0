// The bytes that are live while the sequence of one computation is made from its end, for
// `latency-hiding-scheduler`: what an instruction reads lives from there on, what it makes first
// is gone before it. What is its caller's lives from its first reader on, to the beginning; only
// the entry's parameters and other memory than the device's own count nothing. Top down, from the
// beginning, what an instruction yields lives from there on, until its last reader in the order
// that was given.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lib/analysis/alias.h"
#include "lib/analysis/values.h"
#include "lib/ir/module.h"

namespace hlo {

struct MemoryChange {
  int64_t increase = 0;  // below 0: less is needed
  int64_t peak = 0;      // above what is live, at most
};

class OverlapMemory {
 public:
  // `given`: the instructions in an order that is right. `inside`: bytes that an instruction needs
  // for what it calls. `live`: alias sets that live at the end, for others than this computation;
  // top down, at the beginning.
  OverlapMemory(const std::vector<Instruction*>& given, const Values& values, const AliasSets& sets,
                const std::function<int64_t(const Instruction&)>& inside,
                const std::vector<ValueId>& live, bool top_down);

  // By places in `given`.
  MemoryChange ChangeBy(uint32_t number) const;
  void Add(uint32_t number);
  // With what others need.
  int64_t live_bytes() const { return of_others_ + live_; }
  std::vector<ValueId> LiveSets() const;
  // Without.
  int64_t peak_bytes() const { return peak_; }

 private:
  struct Needs {
    std::vector<uint32_t> reads, makes;  // buffers, that live with it, that are gone after it
    int64_t inside = 0;
  };
  void TurnRound(const std::vector<Instruction*>& given, const Values& values,
                 const AliasSets& sets);

  std::vector<Needs> needs_;
  std::vector<int64_t> bytes_;  // by buffer
  std::vector<ValueId> sets_;   // likewise
  std::vector<bool> is_live_;
  int64_t of_others_ = 0, live_ = 0, peak_ = 0;
};

}  // namespace hlo
