#include "passes/gpu/multi_output_fusion.h"

#include <algorithm>

#include "lib/analysis/reachability.h"
#include "passes/cpu/cpu_multi_output_fusion.h"
#include "passes/gpu/fusion_candidates.h"
#include "passes/gpu/reduction_shape.h"

namespace hlo {
namespace {

// How many of a value's readers are tried with one of them: what all of a large program reads would
// take time.
constexpr size_t kMostTried = 128;

// Of smaller arrays it does not matter who reads which part.
constexpr int64_t kFewBytes = 1024;

bool HasSeveralOutputs(const Instruction& x) { return x.IsFusion() && x.shape().IsTuple(); }

int Priority(const Instruction& x) { return HasSeveralOutputs(x) ? 2 : x.IsFusion() ? 1 : 0; }

bool IsInputFusion(const Instruction& x) {
  return x.IsFusion() && x.attrs<FusionAttrs>().kind == FusionKind::kInput;
}

bool EndsWithUpdate(const Instruction& x) {
  return x.IsFusion() && x.fused_computation()->root()->opcode() == Opcode::kDynamicUpdateSlice;
}

bool MayBeSibling(const Instruction& x) {
  return x.has_uses() && MayHaveMoreOutputs(x) && !IsVariadicReductionInLoop(x) &&
         IsReadByElements(x);
}

// The slice that a fusion reads of one of its operands instead of all of it, or null.
const Instruction* SliceReadOf(const Instruction& array, const Instruction& fusion) {
  if (!fusion.IsFusion()) return nullptr;
  const Instruction* slice = nullptr;
  for (int i = 0; i < fusion.operand_count(); ++i) {
    if (fusion.operand(i) != &array) continue;
    const Instruction& parameter = *fusion.fused_computation()->parameter(i);
    if (slice != nullptr || parameter.use_count() != 1) return nullptr;
    slice = parameter.uses()[0].user;
  }
  return slice != nullptr && slice->opcode() == Opcode::kSlice ? slice : nullptr;
}

Decision ReadTheSame(const Instruction& array, const Instruction& a, const Instruction& b) {
  if (!array.shape().IsArray() || array.shape().byte_size() < kFewBytes) return Yes();
  const Instruction *const of_a = SliceReadOf(array, a), *const of_b = SliceReadOf(array, b);
  if (of_a == nullptr || of_b == nullptr) return Yes();
  const auto &at = of_a->attrs<SliceAttrs>().slice, &bt = of_b->attrs<SliceAttrs>().slice;
  for (size_t d = 0; d < at.size(); ++d) {
    if (at[d].start >= bt[d].limit || bt[d].start >= at[d].limit)
      return No("`{}` and `{}` read other parts of `{}`", a.name(), b.name(), array.name());
  }
  return Yes();
}

// A value that can be an output of the kernel that reads it.
Decision MayBeOutput(const Instruction& producer) {
  if (HasSeveralOutputs(producer)) return No("it has several outputs");
  if (producer.has_control_edges() || producer.sharding() != nullptr || producer.HasSideEffect())
    return No("it has control edges, a sharding or a side effect");
  if (UpdatesInPlace(producer)) return No("it updates an array in place");
  if (IsPhysicallyTransposing(producer)) return No("it transposes");
  return Yes();
}

// A reduction of columns reads what it reduces in tiles, a loop in order.
bool ReducesColumns(const Instruction& hero) {
  return hero.opcode() == Opcode::kReduce && IsFromOrToContiguousDims(hero) &&
         !ReductionShapeOf(hero)->is_row;
}

bool IsPlainLoop(const Instruction& hero) {
  return !(hero.opcode() == Opcode::kReduce && IsFromOrToContiguousDims(hero)) &&
         !TiledTransposeOf(hero) && hero.opcode() != Opcode::kTranspose;
}

Decision ReadInOneOrder(const Instruction& a, const Instruction& b) {
  const Instruction &of_a = HeroOf(a), &of_b = HeroOf(b);
  if ((ReducesColumns(of_a) && IsPlainLoop(of_b)) || (ReducesColumns(of_b) && IsPlainLoop(of_a)))
    return No("one of `{}` and `{}` reduces columns, the other is a loop", a.name(), b.name());
  return Yes();
}

class SiblingFuser {
 public:
  SiblingFuser(Computation& computation, const GpuDevice& device, PassContext& context)
      : computation_(computation), model_(device), context_(context), reachability_(computation) {}

  bool Run() {
    bool changed = false;
    const std::vector<Instruction*> order = computation_.PostOrder();
    for (size_t i = order.size(); i-- > 0;) {
      Instruction* const value = order[i];
      if (value->is_dead() || value->IsConstant() || !value->has_uses()) continue;
      if (value->IsFusion() && value->attrs<FusionAttrs>().kind == FusionKind::kCustom) continue;
      changed |= FuseReaders(*value);
      changed |= FuseIntoReader(value);
    }
    return changed;
  }

 private:
  // ---- readers of one value ----

  bool FuseReaders(const Instruction& value) {
    if (value.shape().IsArray() && value.shape().IsEffectiveScalar()) return false;
    std::vector<Instruction*> readers;
    for (Instruction* reader : value.users()) {
      if (MayBeSibling(*reader)) readers.push_back(reader);
    }
    absl::c_stable_sort(readers, [](const Instruction* a, const Instruction* b) {
      return Priority(*a) > Priority(*b);
    });
    bool changed = false;
    for (size_t i = 0; i < readers.size(); ++i) {
      if (!readers[i]->IsFusion()) continue;
      for (size_t j = i + 1; j < std::min(readers.size(), i + kMostTried);) {
        if (!context_.Allowed(*readers[j], MayJoin(value, *readers[i], *readers[j]))) {
          ++j;
          continue;
        }
        if (!context_.MayRewrite()) return changed;
        Join(readers[i], readers[j], "sibling");
        readers.erase(readers.begin() + static_cast<ptrdiff_t>(j));
        changed = true;
      }
    }
    return changed;
  }

  Decision MayJoin(const Instruction& value, const Instruction& a, const Instruction& b) const {
    if (reachability_.AreConnected(&a, &b)) return No("it and `{}` need each other", a.name());
    if (Decision loops = HaveSameLoops(a, b); !loops) return loops;
    if (Decision order = ReadInOneOrder(a, b); !order) return order;
    if (Decision same = ReadTheSame(value, a, b); !same) return same;
    if (EndsWithUpdate(a) || EndsWithUpdate(b)) return No("an array is updated in place");
    return FitInOneKernel(a, b);
  }

  // ---- a value and a reader of it ----

  bool FuseIntoReader(Instruction* value) {
    const std::vector<Instruction*> readers = value->users();
    if (readers.size() == 1 && !HasSeveralOutputs(*readers[0])) return false;
    if (!IsLoopAsProducer(*value) && !HasSeveralOutputs(*value)) return false;
    if (!context_.Allowed(*value, MayBeOutput(*value))) return false;
    // What depends on the value, as far as it could be read again.
    size_t last_place = 0;
    for (const Instruction* reader : readers) {
      if (reader->is_used() && MayHaveMoreOutputs(*reader))
        last_place = std::max(last_place, reachability_.PlaceOf(reader));
    }
    const Reachability::Dependents dependents = reachability_.DependentsOf(value, last_place);
    Instruction* chosen = nullptr;
    for (Instruction* reader : readers) {
      if (context_.Allowed(*value, MayTake(*reader, *value, dependents)) &&
          (chosen == nullptr || Priority(*reader) > Priority(*chosen)))
        chosen = reader;
    }
    if (chosen == nullptr || !context_.MayRewrite()) return false;
    if (!chosen->IsFusion()) {
      const bool is_input = EndsWithReduction(*chosen) || EndsWithTiledTranspose(*chosen);
      Instruction* const plain = chosen;
      chosen = WrapInFusion(plain, is_input ? FusionKind::kInput : FusionKind::kLoop);
      reachability_.StandFor({chosen}, plain);
    }
    Join(chosen, value, "producer");
    return true;
  }

  // Whether `reader` also reads what depends on the value: together they would need themselves.
  static bool ReadsDependents(const Instruction& reader, const Instruction& value,
                              const Reachability::Dependents& dependents) {
    const auto depends = [&](const Instruction* need) {
      return need != &value && dependents.Has(need);
    };
    return absl::c_any_of(reader.operands(), depends) ||
           absl::c_any_of(reader.control_predecessors(), depends);
  }

  Decision MayTake(Instruction& reader, Instruction& value,
                   const Reachability::Dependents& dependents) const {
    if (!reader.is_used() || !MayHaveMoreOutputs(reader) || !IsReadByElements(reader))
      return No("`{}` cannot have more outputs", reader.name());
    if (Decision loops = HaveSameLoops(reader, value); !loops) return loops;
    if (ReadsDependents(reader, value, dependents))
      return No("`{}` also reads what depends on it", reader.name());
    if (Decision fits = FitInOneKernel(value, reader); !fits) return fits;
    return IsNoSlower(value, reader);
  }

  Decision IsNoSlower(const Instruction& value, const Instruction& reader) const {
    KernelModel of_value(value), of_reader(reader);
    model_.Measure(value, of_value);
    model_.Measure(reader, of_reader);
    if (Decision small = IsSmallEnough(reader, of_reader, value, of_value); !small) return small;
    const Ticks apart = kLaunch + of_value.time + of_reader.time;
    const Ticks both = model_.TimeOfBoth(value, of_value, reader, of_reader, /*writes_both=*/true);
    return both > apart ? No("with `{}` it would take {} ns longer", reader.name(),
                             (both - apart) / kTicksPerNanosecond)
                        : Yes();
  }

  // ---- both ----

  void Join(Instruction* fusion, Instruction* taken, std::string_view as) {
    context_.Passed(*taken, "fused into `{}` as {}", fusion->name(), as);
    context_.Count(as);
    reachability_.Merge({taken, fusion});
    reachability_.StandFor({fusion}, taken);
    if (IsInputFusion(*taken)) {
      FusionAttrs attrs = fusion->attrs<FusionAttrs>();
      attrs.kind = FusionKind::kInput;
      fusion->SetAttrs(std::move(attrs));
    }
    TakeIn(fusion, taken);
  }

  Computation& computation_;
  PerformanceModel model_;
  PassContext& context_;
  Reachability reachability_;
};

bool RunForGpus(Module& module, const GpuDevice& device, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.ControlFlowComputations(module))
    changed |= SiblingFuser(*computation, device, context).Run();
  return changed;
}

}  // namespace

absl::StatusOr<bool> MultiOutputFusion::Run(Module& module, PassContext& context) {
  if (options_.platform == "gpu") {
    if (options_.max_operands != 0)
      return Error(
          "`max_operands` of `multi_output_fusion` is for `platform=cpu`: a kernel of a GPU has as "
          "many operands as fit, 96 with its outputs");
    ASSIGN_OR_RETURN(const GpuDevice device, FindGpuDevice(options_.device));
    return RunForGpus(module, device, context);
  }
  CpuMultiOutputFusionOptions options;
  if (options_.max_operands != 0) options.max_operands = options_.max_operands;
  return CpuMultiOutputFusion(options).Run(module, context);
}

HLO_DEFINE_PASS(MultiOutputFusion)

}  // namespace hlo
