// topk: every element counts the elements of its row that come before it; those with fewer than k
// are stored at that place. Equal elements keep their order; floats are in total order.
#include "backends/gpu/emit/frame.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

// Whether `a` is larger than `b` (smaller, if the smallest are wanted).
llvm::Value* Ahead(FusedEmitter& emitter, ElementType type, bool largest, const Emitted& a,
                   const Emitted& b) {
  cpu::tile::Node node;
  node.opcode = Opcode::kCompare;
  node.attrs.direction = largest ? ComparisonDirection::kGt : ComparisonDirection::kLt;
  node.attrs.comparison = ComparisonType::kTotalOrder;
  node.operands.resize(2);
  const ElementType types[] = {type, type};
  const Emitted operands[] = {a, b};
  return cpu::tile::EmitElement(emitter.kernel().b(), kGpuConversions, node, ElementType::kPred,
                                types, operands)
      .value;
}

}  // namespace

absl::Status EmitTopK(const Instruction& topk, const Frame& frame, KernelPlan& plan) {
  plan.family = "topk";
  const Shape shape = topk.operand(0)->shape();
  const ElementType type = shape.element_type();
  const auto& attrs = topk.attrs<TopKAttrs>();
  const int64_t length = shape.dim(shape.rank() - 1);
  const int64_t count = shape.element_count();
  if (count == 0 || attrs.k == 0) return absl::OkStatus();
  return AddSimpleKernel(
      frame, count, plan, [&](FusedEmitter& emitter, KernelBuilder& k) -> absl::Status {
        auto& b = k.b();
        llvm::Value* const thread =
            k.Add(k.Scale(k.BlockIndex(), k.block_threads()), k.ThreadIndex());
        return k.If(k.Less(thread, k.Index(count)), [&]() -> absl::Status {
          llvm::Value* const row = k.Div(thread, length);
          llvm::Value* const position = k.Rem(thread, length);
          const Emitted mine = k.Load(0, thread);
          const auto step = [&](llvm::Value* j,
                                const EmittedList& before) -> absl::StatusOr<EmittedList> {
            const Emitted other = k.Load(0, k.Add(k.Scale(row, length), j));
            llvm::Value* const ahead = Ahead(emitter, type, attrs.largest, other, mine);
            llvm::Value* const behind = Ahead(emitter, type, attrs.largest, mine, other);
            llvm::Value* const tie = b.CreateAnd(b.CreateNot(behind), k.Less(j, position));
            llvm::Value* const counts = b.CreateZExt(b.CreateOr(ahead, tie), k.index_type());
            return EmittedList{{b.CreateAdd(before[0].value, counts), nullptr}};
          };
          ASSIGN_OR_RETURN(const EmittedList rank, k.Loop(k.Index(0), k.Index(length), k.Index(1),
                                                          {{k.Index(0), nullptr}}, step));
          return k.If(k.Less(rank[0].value, k.Index(attrs.k)), [&] {
            llvm::Value* const place = k.Add(k.Scale(row, attrs.k), rank[0].value);
            k.Store(frame.outputs[0].buffer, place, mine);
            const ElementType index_type = frame.outputs[1].shape.element_type();
            const ElementType wide =
                k.index_type()->isIntegerTy(32) ? ElementType::kS32 : ElementType::kS64;
            k.Store(frame.outputs[1].buffer, place,
                    emitter.Convert({position, nullptr}, wide, index_type));
            return absl::OkStatus();
          });
        });
      });
}

}  // namespace hlo::gpu
