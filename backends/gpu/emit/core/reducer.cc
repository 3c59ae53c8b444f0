#include "backends/gpu/emit/core/reducer.h"

#include <algorithm>

#include "lib/analysis/region.h"
#include "lib/eval/accumulation.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {

std::optional<TieOrder> TiesAmongThreads(const Computation& region) {
  const std::optional<TieOrder> ties = TieOrderOf(region);
  return ties ? ties : TieOrderOf(region, Nan::kNone);
}

Reducer::Reducer(GpuFusionEmitter& emitter, const Instruction* reduce, Order order)
    : emitter_(emitter), region_(*reduce->to_apply()) {
  for (int i = 0; i < reduce->operand_count() / 2; ++i)
    types_.push_back(reduce->operand(i)->shape().element_type());
  const std::optional<Opcode> one = types_.size() == 1 ? CombinerOpcode(region_) : std::nullopt;
  carried_ = CarriedType(one, types_[0], math::Carrier::kGpu);
  if (order == Order::kAny) ties_ = TiesAmongThreads(region_).value_or(TieOrder::kAny);
  if (has_positions()) types_.push_back(ElementType::kS64);
}

EmittedList Reducer::Widen(EmittedList values) const {
  if (is_widened()) values[0] = emitter_.Convert(values[0], types_[0], carried_);
  return values;
}

EmittedList Reducer::Widen(EmittedList values, llvm::Value* position) const {
  values = Widen(std::move(values));
  auto& b = emitter_.kernel().b();
  if (has_positions()) values.push_back({b.CreateSExtOrTrunc(position, b.getInt64Ty()), nullptr});
  return values;
}

EmittedList Reducer::Narrow(EmittedList values) const {
  if (has_positions()) values.pop_back();
  if (is_widened()) values[0] = emitter_.Convert(values[0], carried_, types_[0]);
  return values;
}

// The element that stands first is the first argument; whose bits the result has gives it its
// position.
absl::StatusOr<EmittedList> Reducer::Choose(EmittedList a, EmittedList b) const {
  KernelBuilder& k = emitter_.kernel();
  llvm::Value* const swap = k.b().CreateICmpSLT(b.back().value, a.back().value);
  for (size_t i = 0; i < a.size(); ++i) {
    const Emitted before = k.Select(swap, b[i], a[i]);
    b[i] = k.Select(swap, a[i], b[i]);
    a[i] = before;
  }
  EmittedList arguments(a.begin(), a.end() - 1);
  arguments.insert(arguments.end(), b.begin(), b.end() - 1);
  ASSIGN_OR_RETURN(EmittedList chosen, emitter_.EmitRegion(region_, arguments));
  const auto bits = [&](const Emitted& e) {
    llvm::Type* const type = e.value->getType();
    if (!type->isFloatingPointTy()) return e.value;
    return k.b().CreateBitCast(e.value, k.b().getIntNTy(type->getPrimitiveSizeInBits()));
  };
  const EmittedList& favourite = ties_ == TieOrder::kFirst ? a : b;
  const EmittedList& other = ties_ == TieOrder::kFirst ? b : a;
  llvm::Value* is_favourite = k.b().getTrue();
  for (size_t i = 0; i < chosen.size(); ++i) {
    llvm::Value* const same = k.b().CreateICmpEQ(bits(chosen[i]), bits(favourite[i]));
    is_favourite = k.b().CreateAnd(is_favourite, same);
  }
  chosen.push_back(k.Select(is_favourite, favourite.back(), other.back()));
  return chosen;
}

absl::StatusOr<EmittedList> Reducer::Combine(const EmittedList& a, const EmittedList& b) const {
  if (has_positions()) return Choose(a, b);
  if (is_widened()) {
    const ElementType types[] = {carried_, carried_};
    const Emitted operands[] = {a[0], b[0]};
    return EmittedList{emitter_.Element(region_.root()->opcode(), carried_, types, operands)};
  }
  EmittedList arguments = a;
  arguments.insert(arguments.end(), b.begin(), b.end());
  return emitter_.EmitRegion(region_, arguments);
}

int RowGroup(int64_t outputs, int64_t elements) {
  return elements > 1024 || (elements > 256 && outputs < 256) ? kRowBlock : kWarpSize;
}

int64_t RowBlocks(int group, int64_t outputs) { return CeilDiv(outputs, kRowBlock / group); }

absl::StatusOr<EmittedList> CombineWarp(KernelBuilder& k, llvm::Value* lane, int64_t live,
                                        EmittedList values, const CombineValues& combine) {
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    if (offset >= live) continue;
    EmittedList others;
    for (const Emitted& value : values) others.push_back(k.ShuffleDown(value, offset));
    ASSIGN_OR_RETURN(const EmittedList combined, combine(values, others));
    if (live >= kWarpSize) {
      values = combined;
      continue;
    }
    llvm::Value* const valid = k.Less(lane, k.Index(live - offset));
    for (size_t i = 0; i < values.size(); ++i) values[i] = k.Select(valid, combined[i], values[i]);
  }
  return values;
}

absl::StatusOr<EmittedList> CombineStrided(
    KernelBuilder& k, llvm::Value* lo, llvm::Value* hi, int64_t step, int ahead, EmittedList first,
    const std::function<absl::StatusOr<EmittedList>(llvm::Value*)>& input,
    const CombineValues& combine) {
  const auto take = [&](int count) {
    return [&, count](llvm::Value* i, EmittedList values) -> absl::StatusOr<EmittedList> {
      std::vector<EmittedList> inputs;
      for (int n = 0; n < count; ++n) {
        ASSIGN_OR_RETURN(EmittedList one, input(k.Offset(i, n * step)));
        inputs.push_back(std::move(one));
      }
      for (const EmittedList& one : inputs) {
        ASSIGN_OR_RETURN(values, combine(values, one));
      }
      return values;
    };
  };
  if (ahead == 1) return k.Loop(lo, hi, k.Index(step), std::move(first), take(1));
  // As many rounds of `ahead` inputs as there are, then what is left.
  llvm::Value* const left = k.b().CreateSelect(k.Less(lo, hi), k.Sub(hi, lo), k.Index(0));
  const int64_t round = step * ahead;
  llvm::Value* const rounds_end = k.Add(lo, k.Scale(k.Div(k.Offset(left, step - 1), round), round));
  ASSIGN_OR_RETURN(const EmittedList values,
                   k.Loop(lo, rounds_end, k.Index(round), std::move(first), take(ahead), true));
  return k.Loop(rounds_end, hi, k.Index(step), values, take(1), true);
}

namespace {

// The values that thread `thread` of its group collects.
absl::StatusOr<EmittedList> Collect(KernelBuilder& k, int group, llvm::Value* output,
                                    llvm::Value* thread, const RowReduction& rows) {
  const auto first = [&] { return rows.input(output, thread); };
  const auto none = [&]() -> absl::StatusOr<EmittedList> {
    EmittedList zeros;
    for (const ElementType type : rows.types) {
      constexpr uint8_t kZeros[16] = {};
      zeros.push_back(k.Constant(type, kZeros));
    }
    return zeros;
  };
  llvm::Value* const any =
      rows.elements >= group ? k.b().getTrue() : k.Less(thread, k.Index(rows.elements));
  ASSIGN_OR_RETURN(EmittedList values, k.Guarded(any, first, none));
  if (rows.elements <= group && rows.limit == nullptr) return values;
  llvm::Value* const limit = rows.limit != nullptr ? rows.limit(output) : k.Index(rows.elements);
  return CombineStrided(
      k, k.Offset(thread, group), limit, group, rows.ahead, values,
      [&](llvm::Value* i) { return rows.input(output, i); }, rows.combine);
}

absl::Status EmitWarpRows(KernelBuilder& k, const RowReduction& rows) {
  constexpr int kRowsPerBlock = kRowBlock / kWarpSize;
  llvm::Value* const thread = k.ThreadIndex();
  llvm::Value* const lane = k.Rem(thread, kWarpSize);
  llvm::Value* const output =
      k.Add(k.Scale(k.BlockIndex(), kRowsPerBlock), k.Div(thread, kWarpSize));
  return k.If(k.Less(output, k.Index(rows.outputs)), [&]() -> absl::Status {
    ASSIGN_OR_RETURN(EmittedList values, Collect(k, kWarpSize, output, lane, rows));
    ASSIGN_OR_RETURN(values, CombineWarp(k, lane, rows.elements, values, rows.combine));
    return k.If(k.b().CreateICmpEQ(lane, k.Index(0)), [&] { return rows.store(output, values); });
  });
}

absl::Status EmitBlockRows(KernelBuilder& k, const RowReduction& rows) {
  constexpr int kWarps = kRowBlock / kWarpSize;
  llvm::Value* const thread = k.ThreadIndex();
  llvm::Value* const lane = k.Rem(thread, kWarpSize);
  llvm::Value* const warp = k.Div(thread, kWarpSize);
  llvm::Value* const output = k.BlockIndex();
  ASSIGN_OR_RETURN(EmittedList values, Collect(k, kRowBlock, output, thread, rows));
  // All warps are full: RowGroup gives blocks only to rows of more elements than that.
  ASSIGN_OR_RETURN(values, CombineWarp(k, lane, kWarpSize, values, rows.combine));
  std::vector<SharedArray> partial;
  for (const ElementType type : rows.types) partial.push_back(k.Shared(type, kWarps, "partial"));
  RETURN_IF_ERROR(k.If(k.b().CreateICmpEQ(lane, k.Index(0)), [&] {
    for (size_t i = 0; i < values.size(); ++i) k.StoreShared(partial[i], warp, values[i]);
    return absl::OkStatus();
  }));
  k.Barrier();
  return k.If(k.Less(thread, k.Index(kWarpSize)), [&]() -> absl::Status {
    EmittedList sums;
    llvm::Value* const place = k.Rem(thread, kWarps);
    for (const SharedArray& array : partial) sums.push_back(k.LoadShared(array, place));
    ASSIGN_OR_RETURN(sums, CombineWarp(k, lane, kWarps, sums, rows.combine));
    return k.If(k.b().CreateICmpEQ(thread, k.Index(0)), [&] { return rows.store(output, sums); });
  });
}

}  // namespace

absl::Status EmitRows(KernelBuilder& kernel, int group, const RowReduction& rows) {
  RET_CHECK(group == kWarpSize || rows.elements >= group, "rows of {} for {} threads",
            rows.elements, group);
  return group == kWarpSize ? EmitWarpRows(kernel, rows) : EmitBlockRows(kernel, rows);
}

}  // namespace hlo::gpu
