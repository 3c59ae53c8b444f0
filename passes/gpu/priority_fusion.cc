#include "passes/gpu/priority_fusion.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
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

// Fusions of more instructions are not copied if they can be helped.
constexpr int kManyInstructions = 64;

// A kernel, and what it is worth as a producer: sums over its readers, of which each is subtracted
// and added again when it changes, however many there are.
struct Kernel {
  explicit Kernel(Instruction* kernel) : instruction(kernel), age(kernel->id()), model(*kernel) {}

  bool MayGoIntoAll() const { return refused == 0 && counted > 0; }

  Instruction* instruction;
  int64_t age;  // the newest has the largest
  KernelModel model;
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
      : computation_(computation),
        model_(device),
        context_(context),
        next_age_(computation.module().id_limit()) {}

  bool Run() {
    for (Instruction* x : computation_.PostOrder()) {
      if (!CanBeInKernel(*x) || x->opcode() == Opcode::kConstant) continue;
      const auto kernel = kernels_.emplace(x, std::make_unique<Kernel>(x)).first->second.get();
      model_.Measure(*x, kernel->model);
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
    return CanTakeIn(reader, kernel->model, *producer.instruction, producer.model);
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
    const Kernel* const kernel = Find(&reader);
    if (kernel != nullptr && (edge.may || IsFusibleBitcast(reader))) {
      edge.saved = kernel->model.time -
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
      producer.priority = kLaunch + producer.model.time + producer.saved;
    }
    if (producer.priority && *producer.priority < 0) producer.priority.reset();
    if (producer.priority) queue_.insert({{*producer.priority, producer.age}, &producer});
  }

  void Dequeue(Kernel& producer) {
    if (!producer.priority) return;
    queue_.erase({{*producer.priority, producer.age}, &producer});
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
        if (!context_.Allowed(*x, MayFuse(*producer, *reader))) break;
      }
    }
  }

  // ---- fusing ----

  // False when no more may be changed.
  bool FuseIntoReaders(Kernel& producer, bool& changed) {
    Instruction* const x = producer.instruction;
    std::vector<Kernel*> grown;
    if (const std::vector<Instruction*> readers = x->users(); MayTakeOver(*x, readers)) {
      if (!context_.MayRewrite()) return false;
      ReportFused(*x, *readers[0]);
      grown.push_back(&PutOnTop(producer, *Find(readers[0])));
    } else {
      for (Instruction* reader : readers) {
        if (IsFusibleBitcast(*reader) || (IsFusibleBitcast(*x) && !MayFuse(producer, *reader)))
          continue;
        if (!context_.MayRewrite()) return false;
        ReportFused(*x, *reader);
        grown.push_back(&FuseInto(producer, *Find(reader)));
      }
      if (!x->has_uses()) Remove(producer);
    }
    changed |= !grown.empty();
    LookAgain(grown);
    return true;
  }

  void ReportFused(const Instruction& producer, const Instruction& reader) {
    context_.Passed(producer, "fused into `{}`", reader.name());
    context_.Count("fused");
  }

  // What has grown and what it reads is worth something else now.
  void LookAgain(const std::vector<Kernel*>& grown) {
    std::vector<Kernel*> changed = grown;
    for (Kernel* kernel : grown) model_.Measure(*kernel->instruction, kernel->model);
    for (Kernel* kernel : grown) {
      for (const Instruction* operand : kernel->instruction->operands()) {
        Kernel* const source = Find(operand);
        if (source == nullptr) continue;
        UpdateReader(*source, *kernel->instruction);
        changed.push_back(source);
      }
    }
    for (Kernel* kernel : grown) {
      for (const Instruction* reader : kernel->instruction->users()) UpdateReader(*kernel, *reader);
    }
    for (Kernel* kernel : changed) UpdatePriority(*kernel);
  }

  Kernel& FuseInto(const Kernel& producer, Kernel& reader) {
    BecomeFusion(reader);
    Instruction* const fusion = reader.instruction;
    reader.model.TakeIn(*producer.instruction, producer.model);
    Absorb(producer.instruction, fusion);
    SetKind(*fusion, FusionKindOf(reader.model));
    return reader;
  }

  static bool MayTakeOver(const Instruction& producer, const std::vector<Instruction*>& readers) {
    const int64_t size = BodySize(producer);
    return size > kManyInstructions && readers.size() == 1 && readers[0]->shape().IsArray() &&
           BodySize(*readers[0]) < size && !IsFusibleBitcast(*readers[0]);
  }

  // As FuseInto, but the producer's fusion becomes that of both.
  Kernel& PutOnTop(const Kernel& producer, Kernel& reader) {
    Instruction *const fusion = producer.instruction, *const old = reader.instruction;
    Dequeue(reader);
    ForgetOperandsOf(*old);
    ForgetOperandsOf(*fusion);
    if (!old->IsFusion()) reader.age = next_age_++;
    reader.model.work.BecomeFusion();
    reader.model.TakeIn(*fusion, producer.model);
    TakeOver(fusion, old);
    SetKind(*fusion, FusionKindOf(reader.model));
    StandsFor(fusion, old);
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
    ForgetOperandsOf(*x);
    Instruction* const fusion = WrapInFusion(x, FusionKindOf(kernel.model));
    kernel.age = next_age_++;
    kernel.model.work.BecomeFusion();
    StandsFor(fusion, x);
  }

  // The kernel of `old` is that of `fusion`, also for what reads it.
  void StandsFor(Instruction* fusion, const Instruction* old) {
    std::unique_ptr<Kernel> kernel = std::move(kernels_.at(old));
    kernels_.erase(old);
    kernel->instruction = fusion;
    for (const Instruction* reader : fusion->users()) {
      if (Kernel* const other = Find(reader)) other->model.Rename(*old, *fusion);
    }
    kernels_[fusion] = std::move(kernel);
  }

  void ForgetOperandsOf(const Instruction& x) {
    for (const Instruction* operand : x.operands()) {
      if (Kernel* const source = Find(operand)) ForgetReader(*source, x);
    }
  }

  void Remove(Kernel& producer) {
    Instruction* const x = producer.instruction;
    Dequeue(producer);
    ForgetOperandsOf(*x);
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
      bool fused = false;
      for (Instruction* reader : constant->users()) {
        Kernel* const kernel = Find(reader);
        if (kernel == nullptr || !reader->is_used() || !KeepsScatter(*constant, *reader)) continue;
        if (!context_.MayRewrite()) return changed || fused;
        context_.Passed(*constant, "fused into `{}`", reader->name());
        context_.Count("constants fused");
        BecomeFusion(*kernel);
        Absorb(constant, kernel->instruction);
        fused = true;
      }
      changed |= fused;
      // One that nobody read before is for `dce`.
      if (fused && !constant->is_used()) computation_.Remove(constant);
    }
    return changed;
  }

  Computation& computation_;
  PerformanceModel model_;
  PassContext& context_;
  absl::flat_hash_map<const Instruction*, std::unique_ptr<Kernel>> kernels_;  // looked up only
  // By what it is worth and the age, which no two have in common.
  std::set<std::pair<std::pair<Ticks, int64_t>, Kernel*>> queue_;
  int64_t next_age_;
};

}  // namespace

absl::StatusOr<bool> PriorityFusion::Run(Module& module, PassContext& context) {
  ASSIGN_OR_RETURN(const GpuDevice device, FindGpuDevice(options_.device));
  return ChangesAny(context.ControlFlowComputations(module), [&](Computation& computation) {
    return ComputationFuser(computation, device, context).Run();
  });
}

HLO_DEFINE_PASS(PriorityFusion)

}  // namespace hlo
