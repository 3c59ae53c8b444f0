#include "passes/schedule/memory_scheduler.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <set>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/support/check.h"

namespace hlo {
namespace {

using Sequence = std::vector<Instruction*>;

int64_t BytesDefined(const Instruction& x) {
  const Opcode opcode = x.opcode();
  if (opcode == Opcode::kParameter || opcode == Opcode::kConstant || opcode == Opcode::kTuple ||
      opcode == Opcode::kGetTupleElement || opcode == Opcode::kBitcast)
    return 0;
  int64_t bytes = 0;
  ForEachLeaf(x.shape(), [&](Shape leaf, const ShapeIndex&) {
    if (leaf.IsArray()) bytes += leaf.byte_size();
  });
  return bytes;
}

int64_t BytesOfShape(Shape shape) {
  int64_t bytes = 0;
  ForEachLeaf(shape, [&](Shape leaf, const ShapeIndex&) {
    if (leaf.IsArray()) bytes += leaf.byte_size();
  });
  return bytes;
}

// Sequences of one computation, and what they cost.
class Schedules {
 public:
  Schedules(Computation& computation,
            const absl::flat_hash_map<const Computation*, int64_t>& peak_of_callees)
      : computation_(computation), peak_of_callees_(peak_of_callees) {
    order_ = computation.PostOrder();
    for (Instruction* instruction : order_) {
      std::vector<Instruction*>& sources = sources_[instruction];
      if (!GivesName(*instruction)) {
        sources.push_back(instruction);
        continue;
      }
      for (const Instruction* operand : instruction->operands()) {
        for (Instruction* source : sources_[operand]) AddOnce(sources, source);
      }
    }
    for (Instruction* instruction : order_) {
      if (GivesName(*instruction)) continue;
      for (Instruction* source : Read(*instruction)) ++readers_[source];
    }
    for (Instruction* source : sources_[computation.root()]) ++readers_[source];  // live at the end
  }

  const Sequence& PostOrder() const { return order_; }

  Sequence Dfs() const {
    absl::flat_hash_map<const Instruction*, int64_t> extra_users, total_bytes;
    int64_t all_bytes = 0;
    for (const Instruction* instruction : order_) {
      const auto users = static_cast<int64_t>(instruction->users().size());
      int64_t extra = users == 0 ? 0 : users - 1;
      int64_t bytes = BytesOfShape(instruction->shape());
      all_bytes += bytes;
      absl::flat_hash_set<const Instruction*> seen;
      for (const Instruction* operand : instruction->operands()) {
        if (!seen.insert(operand).second) continue;
        extra += extra_users[operand];
        bytes += total_bytes[operand];
      }
      extra_users[instruction] = std::min(extra, static_cast<int64_t>(order_.size()));
      total_bytes[instruction] = std::min(bytes, all_bytes);
    }
    const auto first = [&](const Instruction* a, const Instruction* b) {
      if (extra_users[a] != extra_users[b]) return extra_users[a] > extra_users[b];
      if (total_bytes[a] != total_bytes[b]) return total_bytes[a] > total_bytes[b];
      return a->name() < b->name();
    };
    Sequence sequence;
    absl::flat_hash_set<const Instruction*> done, entered;
    const auto visit = [&](Instruction* root) {
      std::vector<Instruction*> stack = {root};
      while (!stack.empty()) {
        Instruction* top = stack.back();
        if (done.contains(top)) {
          stack.pop_back();
          continue;
        }
        if (!entered.insert(top).second) {
          done.insert(top);
          sequence.push_back(top);
          stack.pop_back();
          continue;
        }
        std::vector<Instruction*> before = top->operand_vector();
        before.insert(before.end(), top->control_predecessors().begin(),
                      top->control_predecessors().end());
        std::stable_sort(before.begin(), before.end(), first);
        for (size_t i = before.size(); i-- > 0;) {
          if (!done.contains(before[i])) stack.push_back(before[i]);
        }
      }
    };
    for (Instruction* instruction : computation_.instructions()) {
      if (!instruction->has_uses() && instruction->control_successors().empty() &&
          !instruction->is_root())
        visit(instruction);
    }
    visit(computation_.root());
    for (Instruction* instruction : order_) visit(instruction);
    return sequence;
  }

  Sequence Bfs() const {
    Waiting waiting(order_);
    std::deque<Instruction*> ready;
    for (Instruction* instruction : computation_.instructions()) {
      if (waiting.IsReady(*instruction)) ready.push_back(instruction);
    }
    Sequence sequence;
    while (!ready.empty()) {
      Instruction* next = ready.front();
      ready.pop_front();
      sequence.push_back(next);
      for (Instruction* freed : waiting.Finish(*next)) ready.push_back(freed);
    }
    return sequence;
  }

  Sequence List() const {
    Waiting waiting(order_);
    absl::flat_hash_map<const Instruction*, int64_t> readers = readers_;
    struct Candidate {
      int64_t bytes;
      int64_t users;
      size_t number;  // later ones win ties
      Instruction* instruction;
      bool operator<(const Candidate& other) const {
        return std::tie(bytes, users, number) < std::tie(other.bytes, other.users, other.number);
      }
    };
    std::set<Candidate> ready;
    absl::flat_hash_map<const Instruction*, Candidate> candidates;
    size_t number = 0;
    const auto put = [&](Instruction* instruction) {
      int64_t bytes = -BytesDefined(*instruction);
      for (const Instruction* source : Read(*instruction)) {
        if (readers.at(source) == 1) bytes += BytesDefined(*source);
      }
      if (instruction->shape().IsArray() && instruction->shape().IsEffectiveScalar())
        bytes = std::numeric_limits<int64_t>::max();
      const Candidate candidate{bytes, static_cast<int64_t>(instruction->users().size()), number++,
                                instruction};
      candidates[instruction] = candidate;
      ready.insert(candidate);
    };
    for (Instruction* instruction : order_) {
      if (waiting.IsReady(*instruction)) put(instruction);
    }
    Sequence sequence;
    while (!ready.empty()) {
      Instruction* next = std::prev(ready.end())->instruction;
      ready.erase(std::prev(ready.end()));
      candidates.erase(next);
      sequence.push_back(next);
      if (!GivesName(*next)) {
        for (Instruction* source : Read(*next)) {
          if (--readers[source] != 1) continue;
          // Its last reader now frees it.
          for (Instruction* user : source->users()) {
            const auto at = candidates.find(user);
            if (at == candidates.end()) continue;
            ready.erase(at->second);
            put(user);
          }
        }
      }
      for (Instruction* freed : waiting.Finish(*next)) put(freed);
    }
    return sequence;
  }

  // The largest number of bytes that are live at a time.
  int64_t Peak(const Sequence& sequence) const {
    absl::flat_hash_map<const Instruction*, int64_t> readers = readers_;
    int64_t live = 0, peak = 0;
    for (const Instruction* instruction : sequence) {
      if (GivesName(*instruction)) continue;
      live += BytesDefined(*instruction);
      int64_t inside = 0;
      for (const Computation* callee : instruction->calls()) {
        const auto at = peak_of_callees_.find(callee);
        if (at != peak_of_callees_.end()) inside = std::max(inside, at->second);
      }
      peak = std::max(peak, live + inside);
      for (const Instruction* source : Read(*instruction)) {
        if (--readers[source] == 0) live -= BytesDefined(*source);
      }
      if (!readers.contains(instruction)) live -= BytesDefined(*instruction);  // nobody reads it
    }
    return peak;
  }

 private:
  // How many operands and control predecessors each instruction still waits for.
  class Waiting {
   public:
    explicit Waiting(const Sequence& order) {
      for (const Instruction* instruction : order) {
        absl::flat_hash_set<const Instruction*> before;
        for (const Instruction* operand : instruction->operands()) before.insert(operand);
        for (const Instruction* predecessor : instruction->control_predecessors())
          before.insert(predecessor);
        for (const Instruction* one : before)
          after_[one].push_back(const_cast<Instruction*>(instruction));
        missing_[instruction] = static_cast<int64_t>(before.size());
      }
    }
    bool IsReady(const Instruction& instruction) const { return missing_.at(&instruction) == 0; }
    // What becomes ready when `instruction` has run.
    std::vector<Instruction*> Finish(const Instruction& instruction) {
      std::vector<Instruction*> freed;
      for (Instruction* next : after_[&instruction]) {
        if (--missing_[next] == 0) freed.push_back(next);
      }
      std::sort(freed.begin(), freed.end(),
                [](const Instruction* a, const Instruction* b) { return a->id() < b->id(); });
      return freed;
    }

   private:
    absl::flat_hash_map<const Instruction*, std::vector<Instruction*>> after_;
    absl::flat_hash_map<const Instruction*, int64_t> missing_;
  };

  static bool GivesName(const Instruction& x) {
    return x.opcode() == Opcode::kTuple || x.opcode() == Opcode::kGetTupleElement ||
           x.opcode() == Opcode::kBitcast;
  }
  static void AddOnce(std::vector<Instruction*>& list, Instruction* x) {
    if (std::find(list.begin(), list.end(), x) == list.end()) list.push_back(x);
  }
  // The values that an instruction reads, whatever they are called.
  std::vector<Instruction*> Read(const Instruction& instruction) const {
    std::vector<Instruction*> read;
    for (const Instruction* operand : instruction.operands()) {
      for (Instruction* source : sources_.at(operand)) AddOnce(read, source);
    }
    return read;
  }

  Computation& computation_;
  const absl::flat_hash_map<const Computation*, int64_t>& peak_of_callees_;
  Sequence order_;
  absl::flat_hash_map<const Instruction*, std::vector<Instruction*>> sources_;
  absl::flat_hash_map<const Instruction*, int64_t> readers_;
};

}  // namespace

absl::StatusOr<bool> MemoryScheduler::Run(Module& module, PassContext& context) {
  const std::string& algorithm = options_.algorithm;
  if (algorithm != "default" && algorithm != "list" && algorithm != "dfs" && algorithm != "bfs" &&
      algorithm != "postorder") {
    return Error(
        "unknown scheduling algorithm `{}`; expected `default`, `list`, `dfs`, "
        "`postorder` or `bfs`",
        algorithm);
  }
  if (!context.MayRewrite()) return false;
  bool changed = !module.is_scheduled();
  absl::flat_hash_map<const Computation*, int64_t> peaks;
  for (Computation* computation : module.NonFusionComputations()) {
    const Schedules schedules(*computation, peaks);
    Sequence sequence;
    if (algorithm == "list") {
      sequence = schedules.List();
    } else if (algorithm == "dfs") {
      sequence = schedules.Dfs();
    } else if (algorithm == "bfs") {
      sequence = schedules.Bfs();
    } else {
      sequence = schedules.PostOrder();
    }
    if (algorithm == "default") {
      Sequence list = schedules.List();
      Sequence dfs = schedules.Dfs();
      const int64_t of_list = schedules.Peak(list);
      const int64_t of_dfs = schedules.Peak(dfs);
      const int64_t of_post_order = schedules.Peak(sequence);
      if (of_list <= of_dfs && of_list <= of_post_order) {
        sequence = std::move(list);
      } else if (of_dfs <= of_post_order) {
        sequence = std::move(dfs);
      }
    }
    peaks[computation] = schedules.Peak(sequence);
    if (computation->has_schedule() && computation->schedule() == sequence) continue;
    RET_CHECK(static_cast<int>(sequence.size()) == computation->instruction_count(),
              "the schedule of `{}` is incomplete", computation->name());
    computation->set_schedule(std::move(sequence));
    context.Count("scheduled computations");
    changed = true;
  }
  module.set_scheduled(true);
  return changed;
}

HLO_DEFINE_PASS(MemoryScheduler)

}  // namespace hlo
