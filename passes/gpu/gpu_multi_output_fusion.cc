#include "passes/gpu/gpu_multi_output_fusion.h"

#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "lib/analysis/alias.h"
#include "lib/analysis/reachability.h"
#include "lib/ir/dense_map.h"
#include "lib/ops/opcode_set.h"
#include "lib/support/contains.h"
#include "passes/fusion/fuse.h"
#include "passes/fusion/fusion_target.h"
#include "passes/fusion/kernel_support.h"
#include "passes/fusion/row_fusion.h"

namespace hlo {
namespace {

constexpr int64_t kFewElements = 16;  // for one thread
constexpr size_t kMostOperands = 32;
constexpr int kMostInJointLoop = 48;  // instructions: more make registers scarce

bool HasKernel(const Instruction& instruction) {
  if (!instruction.IsFusion()) return static_cast<bool>(IsKernelOp(instruction));
  // A product has a kernel of its own.
  return ProductOf(instruction) == nullptr && Takes(*FindFusionTarget("gpu"), instruction);
}

// The reduce that an instruction is, or ends with; null for others, and where nobody reads it.
const Instruction* ReduceOf(const Instruction& instruction) {
  const Instruction* const root =
      instruction.IsFusion() ? instruction.fused_computation()->root() : &instruction;
  if (root->opcode() != Opcode::kReduce || !root->shape().IsArray() || !instruction.is_used() ||
      instruction.has_control_edges() || !HasKernel(instruction) || RowFusionOf(instruction))
    return nullptr;
  int64_t elements = 1;
  for (const int64_t d : root->attrs<ReduceAttrs>().dimensions)
    elements *= root->operand(0)->shape().dim(static_cast<int>(d));
  return elements > kFewElements && root->shape().element_count() > 0 ? root : nullptr;
}

bool IsSameReduction(const Instruction& a, const Instruction& b) {
  return a.operand(0)->shape().dims() == b.operand(0)->shape().dims() &&
         a.attrs<ReduceAttrs>().dimensions == b.attrs<ReduceAttrs>().dimensions;
}

// Divides the instructions of a computation into paths, on each of which every instruction needs
// the one before it. Two on one path never become one kernel, unless as neighbours.
InstructionMap<uint32_t> PathsOf(const std::vector<Instruction*>& order) {
  InstructionMap<uint32_t> paths;
  InstructionMap<bool> goes_on;
  uint32_t count = 0;
  for (const Instruction* instruction : order) {
    const auto& operands = instruction->operands();
    const auto end =
        absl::c_find_if(operands, [&](const Instruction* x) { return !goes_on.Get(x); });
    paths[instruction] = end == operands.end() ? count++ : paths.Get(*end);
    if (end != operands.end()) goes_on[*end] = true;
  }
  return paths;
}

// Elements of another width would be stored in vectors of another length.
std::pair<DimVec, int> KindOfLoop(const Instruction& loop) {
  const auto dims = loop.shape().dims();
  return {DimVec(dims.begin(), dims.end()), BitWidth(loop.shape().element_type())};
}

// Loops that read one array, among which those of one kind that are on different paths are found
// without a look at the others.
class LoopList {
 public:
  LoopList(std::vector<Instruction*> loops, const InstructionMap<uint32_t>& paths)
      : loops_(std::move(loops)), next_(loops_.size()), next_path_(loops_.size()) {
    for (const Instruction* loop : loops_) paths_.push_back(paths.Get(loop));
    std::map<std::pair<DimVec, int>, size_t> first_of_kind;
    for (size_t at = size(); at-- > 0;) {
      const auto [it, is_last] = first_of_kind.emplace(KindOfLoop(*loops_[at]), size());
      const size_t next = std::exchange(it->second, at);
      next_[at] = next;
      next_path_[at] = next < size() && paths_[next] == paths_[at] ? next_path_[next] : next;
    }
  }

  size_t size() const { return loops_.size(); }
  Instruction* operator[](size_t at) const { return loops_[at]; }
  uint32_t path(size_t at) const { return paths_[at]; }
  void Remove(size_t at) { loops_[at] = nullptr; }

  // The place of the next of the same kind on none of the paths; size() if there is none.
  size_t After(size_t at, const std::vector<uint32_t>& taken) {
    at = Present(next_[at]);
    while (at < size() && Contains(taken, paths_[at])) at = Present(next_path_[at]);
    return at;
  }

 private:
  // This one or, if it was removed, the next of its kind that is there.
  size_t Present(size_t at) {
    while (at < size() && loops_[at] == nullptr) {
      const size_t next = next_[at];
      if (next < size() && loops_[next] == nullptr) next_[at] = next_[next];
      at = next;
    }
    return at;
  }

  std::vector<Instruction*> loops_;  // null: removed
  std::vector<uint32_t> paths_;
  std::vector<size_t> next_;       // of the same kind
  std::vector<size_t> next_path_;  // of the same kind on another path
};

class Joiner {
 public:
  Joiner(Computation& computation, const GpuMultiOutputFusionOptions& options, PassContext& context)
      : computation_(computation), options_(options), context_(context) {}

  bool Run() {
    bool changed = false;
    const std::vector<Instruction*> order = computation_.SequenceOrPostOrder();
    for (size_t i = 0; i < order.size(); ++i) number_[order[i]] = i;
    paths_ = PathsOf(order);
    for (Instruction* instruction : order) {
      if (instruction->is_dead() || joint_.contains(instruction)) continue;
      const Instruction* const reduce = ReduceOf(*instruction);
      if (reduce == nullptr) continue;
      const std::vector<Instruction*> members = MembersFor(*instruction, *reduce);
      const auto results = absl::c_count_if(members, [&members](const Instruction* member) {
        return IsUsedOutside(*member, members);
      });
      if (results < 2 || !context_.MayRewrite()) continue;
      MakeFusion(members, FusionKind::kInput);
      changed = true;
    }
    for (Instruction* array : order) changed |= !array->is_dead() && JoinLoopsThatRead(*array);
    return changed;
  }

 private:
  // ---- loops ----

  // A loop over the elements of its one result, each of which it computes by itself.
  static bool IsPlainLoop(const Instruction& instruction) {
    if (!instruction.shape().IsArray() || instruction.has_control_edges() ||
        !instruction.is_used() || instruction.shape().element_count() <= 1)
      return false;
    // These have kernels of their own, or write in place.
    constexpr OpcodeSet kOthers = {Opcode::kReduce, Opcode::kReduceWindow, Opcode::kScatter,
                                   Opcode::kDynamicUpdateSlice};
    const auto is_plain = [&kOthers](const Instruction& i) {
      return IsFusible(i) && !kOthers.Has(i.opcode()) &&
             !(i.opcode() == Opcode::kTranspose && MovesMinorDimension(i));
    };
    if (!instruction.IsFusion()) return is_plain(instruction) && !IsAliasWhenDense(instruction);
    if (!HasKernel(instruction)) return false;
    for (const Instruction* i : instruction.fused_computation()->instructions()) {
      if (i->opcode() != Opcode::kParameter && !is_plain(*i)) return false;
    }
    return true;
  }

  static int InstructionsIn(const std::vector<Instruction*>& members) {
    int sum = 0;
    for (const Instruction* member : members) {
      sum += member->IsFusion() ? member->fused_computation()->instruction_count() : 1;
    }
    return sum;
  }

  // What one makes, another would compute again wherever it reads it.
  static bool ReadEachOther(const Instruction* loop, const std::vector<Instruction*>& members) {
    const auto reads = [](const Instruction* reader, const Instruction* made) {
      const auto& operands = reader->operands();
      return absl::c_linear_search(operands, made);
    };
    return absl::c_any_of(members, [&](const Instruction* member) {
      return reads(loop, member) || reads(member, loop);
    });
  }

  // Whether the loop that makes the array may go into the only kernel that reads it: no element is
  // computed more than once.
  bool MayMakeInside(const Instruction& array, const std::vector<Instruction*>& readers) const {
    int64_t read = 0;
    for (const Instruction* reader : readers) read += reader->shape().element_count();
    return !array.is_root() && !joint_.contains(&array) && IsPlainLoop(array) &&
           read <= array.shape().element_count() && !IsUsedOutside(array, readers);
  }

  LoopList LoopsThatRead(const Instruction& array) const {
    std::vector<Instruction*> loops;
    absl::flat_hash_set<const Instruction*> seen;
    for (const Use& use : array.uses()) {
      // The array should be a good part of what the loop reads.
      if (seen.insert(use.user).second && !joint_.contains(use.user) && IsPlainLoop(*use.user) &&
          2 * array.shape().element_count() >= use.user->shape().element_count())
        loops.push_back(use.user);
    }
    return {std::move(loops), paths_};
  }

  bool JoinLoopsThatRead(Instruction& array) {
    if (!array.shape().IsArray() || array.shape().element_count() <= 1) return false;
    LoopList loops = LoopsThatRead(array);
    bool changed = false;
    for (size_t i = 0; i < loops.size(); ++i) {
      if (loops[i] == nullptr) continue;
      std::vector<size_t> places = {i};
      std::vector<Instruction*> members = MembersFor(loops, places);
      if (members.size() < 2 || !context_.MayRewrite()) continue;
      if (MayMakeInside(array, members)) {
        TryAdd(&array, members);
        if (InstructionsIn(members) > kMostInJointLoop) members.pop_back();
      }
      Order(members);
      MakeFusion(members, FusionKind::kLoop);
      if (array.is_dead()) return true;
      for (const size_t place : places) loops.Remove(place);
      changed = true;
    }
    return changed;
  }

  // The loop at places[0] with what can be one kernel with it, whose places are added.
  std::vector<Instruction*> MembersFor(LoopList& loops, std::vector<size_t>& places) {
    std::vector<Instruction*> members = {loops[places[0]]};
    std::vector<uint32_t> taken = {loops.path(places[0])};
    for (size_t at = loops.After(places[0], taken);
         at < loops.size() && std::ssize(members) < options_.max_members;
         at = loops.After(at, taken)) {
      const size_t before = members.size();
      if (!ReadEachOther(loops[at], members)) TryAdd(loops[at], members);
      if (InstructionsIn(members) > kMostInJointLoop) members.resize(before);
      if (members.size() == before) continue;
      places.push_back(at);
      taken.push_back(loops.path(at));
    }
    return members;
  }

  // What others need comes first.
  void Order(std::vector<Instruction*>& members) {
    absl::c_sort(members, [this](const Instruction* a, const Instruction* b) {
      return number_.Get(a) < number_.Get(b);
    });
  }

  // ---- reductions ----

  // The reduction with others of its kind, and the loops that make what they read.
  std::vector<Instruction*> MembersFor(Instruction& first, const Instruction& reduce) {
    std::vector<Instruction*> members = {&first};
    const absl::Span<const int64_t> dims = reduce.operand(0)->shape().dims();
    std::vector<Instruction*> arrays;  // that are reduced
    for (Instruction* operand : first.operands()) {
      if (operand->shape().IsArray() && operand->shape().dims() == dims) arrays.push_back(operand);
    }
    for (Instruction* array : arrays) {
      if (IsLoop(*array)) TryAdd(array, members);
    }
    std::vector<uint32_t> taken = {paths_.Get(&first)};
    for (const Instruction* array : arrays) {
      for (const Use& use : array->uses()) {
        if (std::ssize(members) >= options_.max_members) break;
        if (joint_.contains(use.user) || Contains(taken, paths_.Get(use.user))) continue;
        const Instruction* const other = ReduceOf(*use.user);
        if (other == nullptr || !IsSameReduction(*other, reduce)) continue;
        const size_t before = members.size();
        TryAdd(use.user, members);
        if (members.size() > before) taken.push_back(paths_.Get(use.user));
      }
    }
    Order(members);
    return members;
  }

  static bool IsLoop(const Instruction& instruction) {
    if (instruction.has_control_edges() || !instruction.shape().IsArray()) return false;
    if (!instruction.IsFusion()) return IsFusibleElementwise(instruction) && IsFusible(instruction);
    for (const Instruction* i : instruction.fused_computation()->instructions()) {
      // What has a kernel of its own stays there.
      if (i->opcode() == Opcode::kReduce || i->opcode() == Opcode::kScatter ||
          i->opcode() == Opcode::kTranspose || i->opcode() == Opcode::kDynamicUpdateSlice)
        return false;
    }
    return HasKernel(instruction);
  }

  void TryAdd(Instruction* next, std::vector<Instruction*>& members) {
    if (std::ssize(members) >= options_.max_members || joint_.contains(next) ||
        absl::c_linear_search(members, next))
      return;
    members.push_back(next);
    if (OperandsOf(members).size() > kMostOperands || ReadsReduction(members) ||
        HasPathOutside(members))
      members.pop_back();
  }

  // Whether one reads the result of a reduction among them, which each element would compute again.
  static bool ReadsReduction(const std::vector<Instruction*>& members) {
    return absl::c_any_of(members, [&](const Instruction* member) {
      return absl::c_any_of(member->operands(), [&](const Instruction* operand) {
        return Contains(members, operand) && ReduceOf(*operand) != nullptr;
      });
    });
  }

  static bool IsUsedOutside(const Instruction& member, const std::vector<Instruction*>& members) {
    return member.is_root() || absl::c_any_of(member.uses(), [&members](const Use& use) {
             return !absl::c_linear_search(members, use.user);
           });
  }

  static std::vector<Instruction*> OperandsOf(const std::vector<Instruction*>& members) {
    std::vector<Instruction*> operands;
    for (const Instruction* member : members) {
      for (Instruction* operand : member->operands()) {
        const auto is_in = [operand](const std::vector<Instruction*>& list) {
          return absl::c_linear_search(list, operand);
        };
        if (!is_in(members) && !is_in(operands)) operands.push_back(operand);
      }
    }
    return operands;
  }

  // The joint kernel would wait for itself.
  bool HasPathOutside(const std::vector<Instruction*>& members) {
    if (!reachability_) reachability_.emplace(computation_);
    return reachability_->WouldMakeCycle(members);
  }

  void MakeFusion(const std::vector<Instruction*>& members, FusionKind kind) {
    context_.Count("kernels joined", std::ssize(members));
    reachability_->Merge(members);
    Instruction* const fusion = Fuse(members, {.kind = kind, .name = "multi_output_fusion"});
    reachability_->StandFor({fusion}, members[0]);
    joint_.insert(fusion);
    for (const Instruction* element : fusion->users()) joint_.insert(element);
  }

  Computation& computation_;
  const GpuMultiOutputFusionOptions& options_;
  PassContext& context_;
  InstructionMap<size_t> number_;                  // in the order of the computation
  InstructionMap<uint32_t> paths_;                 // PathsOf
  std::optional<Reachability> reachability_;       // when there is something to join
  absl::flat_hash_set<const Instruction*> joint_;  // made here; looked up only
};

}  // namespace

absl::StatusOr<bool> GpuMultiOutputFusion::Run(Module& module, PassContext& context) {
  return ChangesAny(context.NonFusionComputations(module), [&](Computation& computation) {
    return Joiner(computation, options_, context).Run();
  });
}

HLO_DEFINE_PASS(GpuMultiOutputFusion)

}  // namespace hlo
