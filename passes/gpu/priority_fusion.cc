#include "passes/gpu/priority_fusion.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lib/analysis/call_graph.h"
#include "passes/fusion/fuse.h"
#include "passes/gpu/fusion_candidates.h"
#include "passes/gpu/performance_model.h"

namespace hlo {
namespace {

// What a producer saves at one reader that computes it itself.
struct Edge {
  bool may = false;
  Ticks saved = 0;
};

// A kernel, and what it is worth as a producer: sums over its readers, of which each is subtracted
// and added again when it changes, however many there are.
struct Kernel {
  explicit Kernel(Instruction* kernel) : instruction(kernel), model(*kernel) {}

  bool MayGoIntoAll() const { return refused == 0 && counted > 0; }

  Instruction* instruction;
  KernelModel model;
  Ticks time = 0;
  absl::flat_hash_map<const Instruction*, Edge> readers;  // looked up only
  int counted = 0;                                        // readers that are no bitcasts
  int refused = 0;                                        // of those
  Ticks saved = 0;
  std::optional<Ticks> priority;  // in the queue
};

// Above all that is worth something in time.
constexpr Ticks kFirst = INT64_MAX;

FusionKind FusionKindOf(const KernelModel& model) {
  return model.shape.kind() == KernelKind::kLoop ? FusionKind::kLoop : FusionKind::kInput;
}

bool IsSmallConstant(const Instruction& x) {
  return x.opcode() == Opcode::kConstant && x.shape().IsArray() && x.shape().element_count() <= 1;
}

class ComputationFuser {
 public:
  ComputationFuser(Computation& computation, const GpuDevice& device, PassContext& context)
      : computation_(computation), model_(device), context_(context) {}

  bool Run() {
    for (Instruction* x : computation_.PostOrder()) {
      if (!CanBeInKernel(*x) || x->opcode() == Opcode::kConstant) continue;
      const auto kernel = kernels_.emplace(x, std::make_unique<Kernel>(x)).first->second.get();
      kernel->time = model_.TimeOf(*x, kernel->model);
    }
    for (Instruction* x : computation_.PostOrder()) {
      if (Kernel* const kernel = Find(x)) UpdateReaders(*kernel);
    }
    bool changed = false;
    while (!queue_.empty()) {
      Kernel* const producer = queue_.rbegin()->second;
      Dequeue(*producer);
      if (!FuseIntoReaders(*producer, changed)) return changed;
    }
    ReportMissed();
    return FuseConstants() || changed;
  }

 private:
  Kernel* Find(const Instruction* x) const {
    const auto at = kernels_.find(x);
    return at == kernels_.end() ? nullptr : at->second.get();
  }

  // ---- what producers are worth ----

  Decision MayFuse(const Kernel& producer, const Instruction& reader) const {
    const Kernel* const kernel = Find(&reader);
    if (kernel == nullptr) return No("`{}` is no part of a kernel", reader.name());
    return MayTakeIn(reader, kernel->model, *producer.instruction, producer.model);
  }

  void ForgetReader(Kernel& producer, const Instruction& reader) {
    const auto at = producer.readers.find(&reader);
    if (at == producer.readers.end()) return;
    Count(producer, reader, at->second, -1);
    producer.readers.erase(at);
  }

  static void Count(Kernel& producer, const Instruction& reader, const Edge& edge, int sign) {
    producer.saved += sign * edge.saved;
    if (IsFusibleBitcast(reader)) return;
    producer.counted += sign;
    if (!edge.may) producer.refused += sign;
  }

  void UpdateReader(Kernel& producer, const Instruction& reader) {
    ForgetReader(producer, reader);
    Edge edge;
    edge.may = static_cast<bool>(MayFuse(producer, reader));
    // A bitcast that stays reads what the producer would have to make once more.
    if (const Kernel* const kernel = Find(&reader); edge.may || IsFusibleBitcast(reader)) {
      edge.saved = kernel->time -
                   model_.TimeOfBoth(*producer.instruction, producer.model, reader, kernel->model);
    }
    Count(producer, reader, edge, 1);
    producer.readers[&reader] = edge;
  }

  void UpdateReaders(Kernel& producer) {
    for (const Instruction* reader : producer.instruction->users()) UpdateReader(producer, *reader);
    UpdatePriority(producer);
  }

  // All that is computed anew after a step is put into the queue again.
  void UpdatePriority(Kernel& producer) {
    Dequeue(producer);
    const Instruction& x = *producer.instruction;
    if (x.is_root() || !x.has_uses()) return;
    if (IsFusibleBitcast(x)) {
      producer.priority = kFirst;
    } else if (producer.MayGoIntoAll()) {
      producer.priority = kLaunch + producer.time + producer.saved;
    }
    if (producer.priority && *producer.priority < 0) producer.priority.reset();
    if (producer.priority) queue_.insert({{*producer.priority, x.id()}, &producer});
  }

  void Dequeue(Kernel& producer) {
    if (!producer.priority) return;
    queue_.erase({{*producer.priority, producer.instruction->id()}, &producer});
    producer.priority.reset();
  }

  void ReportMissed() {
    for (Instruction* x : computation_.PostOrder()) {
      const Kernel* const producer = Find(x);
      if (producer == nullptr || x->is_root()) continue;
      if (producer->MayGoIntoAll()) {
        context_.Missed(*x, "its readers would take longer");
        continue;
      }
      for (const Instruction* reader : x->users()) {
        const Decision may = MayFuse(*producer, *reader);
        if (may) continue;
        context_.Missed(*x, may.reason());
        break;
      }
    }
  }

  // ---- fusing ----

  // False when no more may be changed.
  bool FuseIntoReaders(Kernel& producer, bool& changed) {
    Instruction* const x = producer.instruction;
    std::vector<Kernel*> grown;
    for (Instruction* reader : x->users()) {
      if (IsFusibleBitcast(*reader) || (IsFusibleBitcast(*x) && !MayFuse(producer, *reader)))
        continue;
      if (!context_.MayRewrite()) return false;
      context_.Passed(*x, "fused into `{}`", reader->name());
      context_.Count("fused");
      grown.push_back(&FuseInto(producer, *Find(reader)));
      changed = true;
    }
    if (!x->has_uses()) Remove(producer);
    std::vector<Kernel*> looked_at = grown;
    for (Kernel* kernel : grown) {
      kernel->time = model_.TimeOf(*kernel->instruction, kernel->model);
    }
    for (Kernel* kernel : grown) {
      for (const Instruction* operand : kernel->instruction->operands()) {
        Kernel* const source = Find(operand);
        if (source == nullptr) continue;
        UpdateReader(*source, *kernel->instruction);
        looked_at.push_back(source);
      }
    }
    for (Kernel* kernel : grown) {
      for (const Instruction* reader : kernel->instruction->users()) UpdateReader(*kernel, *reader);
    }
    for (Kernel* kernel : looked_at) UpdatePriority(*kernel);
    return true;
  }

  Kernel& FuseInto(const Kernel& producer, Kernel& reader) {
    BecomeFusion(reader);
    Instruction* const fusion = reader.instruction;
    reader.model.TakeIn(*producer.instruction, producer.model);
    Absorb(producer.instruction, fusion);
    SetKind(*fusion, FusionKindOf(reader.model));
    return reader;
  }

  static void SetKind(Instruction& fusion, FusionKind kind) {
    FusionAttrs attrs = fusion.attrs<FusionAttrs>();
    if (attrs.kind == kind) return;
    attrs.kind = kind;
    fusion.SetAttrs(std::move(attrs));
  }

  void BecomeFusion(Kernel& kernel) {
    Instruction* const x = kernel.instruction;
    if (x->IsFusion()) return;
    Dequeue(kernel);
    for (const Instruction* operand : x->operands()) {
      if (Kernel* const source = Find(operand)) ForgetReader(*source, *x);
    }
    Instruction* const fusion = WrapInFusion(x, FusionKindOf(kernel.model));
    kernel.instruction = fusion;
    kernel.model.work.BecomeFusion();
    std::unique_ptr<Kernel> owned = std::move(kernels_.at(x));
    kernels_.erase(x);
    kernels_.emplace(fusion, std::move(owned));
    for (const Instruction* reader : fusion->users()) {
      if (Kernel* const other = Find(reader)) other->model.Rename(*x, *fusion);
    }
  }

  void Remove(Kernel& producer) {
    Instruction* const x = producer.instruction;
    Dequeue(producer);
    for (const Instruction* operand : x->operands()) {
      if (Kernel* const source = Find(operand)) ForgetReader(*source, *x);
    }
    Computation* const body = x->IsFusion() ? x->fused_computation() : nullptr;
    kernels_.erase(x);
    computation_.Remove(x);
    if (body != nullptr && body->callers().empty()) body->module().RemoveComputation(body);
  }

  // Of one element: the code is shorter with them.
  bool FuseConstants() {
    bool changed = false;
    std::vector<Instruction*> constants;
    for (Instruction* x : computation_.instructions()) {
      if (IsSmallConstant(*x)) constants.push_back(x);
    }
    for (Instruction* constant : constants) {
      for (Instruction* reader : constant->users()) {
        Kernel* const kernel = Find(reader);
        if (kernel == nullptr || !reader->is_used() || !KeepsScatter(*constant, *reader)) continue;
        if (!context_.MayRewrite()) return changed;
        context_.Passed(*constant, "fused into `{}`", reader->name());
        context_.Count("constants fused");
        BecomeFusion(*kernel);
        Absorb(constant, kernel->instruction);
        changed = true;
      }
      if (!constant->is_used()) computation_.Remove(constant);
    }
    return changed;
  }

  Computation& computation_;
  PerformanceModel model_;
  PassContext& context_;
  absl::flat_hash_map<const Instruction*, std::unique_ptr<Kernel>> kernels_;  // looked up only
  // By what it is worth and the id, which no two have in common.
  std::set<std::pair<std::pair<Ticks, uint32_t>, Kernel*>> queue_;
};

}  // namespace

absl::StatusOr<bool> PriorityFusion::Run(Module& module, PassContext& context) {
  ASSIGN_OR_RETURN(const GpuDevice device, FindGpuDevice(options_.device));
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module)) {
    if (DirectContext(*computation) == CallContext::kControlFlow)
      changed |= ComputationFuser(*computation, device, context).Run();
  }
  return changed;
}

HLO_DEFINE_PASS(PriorityFusion)

}  // namespace hlo
