// Rules of buffers, values of type `b(f32[4])` that stand for memory which is updated in place:
//
//   where          only custom calls, while, parameters (not of the entry), tuple,
//                  get-tuple-element, dynamic-update-slice and async-start, -update, -done take or
//                  give them, and calls with the frontend attribute `_xla_stream_annotation`;
//                  asynchronous computations with a call as root are not looked at
//   custom call    passes each buffer operand on by exactly one entry of
//                  output_to_operand_aliasing; each buffer in its result has one
//   Pin            one array in, a buffer of it out, aliased
//   Unpin          one buffer in, its array out, aliased
//   CreateBuffer   nothing in, a buffer out
//   writers        a buffer is used by at most one instruction besides tuple and get-tuple-element,
//                  through which it is followed; being in the root of a loop's body counts
#include <algorithm>

#include "lib/ir/async_chain.h"
#include "lib/ir/verify_internal.h"
#include "lib/types/shape_limits.h"
#include "lib/types/shape_util.h"

namespace hlo::internal {
namespace {

constexpr Opcode kMayHoldBuffers[] = {
    Opcode::kCustomCall, Opcode::kWhile,       Opcode::kParameter,
    Opcode::kTuple,      Opcode::kAsyncStart,  Opcode::kGetTupleElement,
    Opcode::kAsyncDone,  Opcode::kAsyncUpdate, Opcode::kDynamicUpdateSlice};

// A call on a stream of its own becomes an asynchronous one.
bool IsOnStream(const Instruction& call) {
  return call.opcode() == Opcode::kCall && call.extras() != nullptr &&
         call.extras()->frontend_attributes.contains("_xla_stream_annotation");
}

// Computations of asynchronous calls are not looked at.
bool IsCalledAsynchronously(const Computation& computation) {
  return computation.root()->opcode() == Opcode::kCall && IsAsyncBody(computation);
}

bool MayHoldBuffers(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kParameter && instruction.parent()->is_entry()) return false;
  if (IsOnStream(instruction)) return true;
  return std::count(std::begin(kMayHoldBuffers), std::end(kMayHoldBuffers), instruction.opcode()) >
         0;
}

// The places of buffers in a shape, in order.
std::vector<ShapeIndex> BuffersIn(Shape shape) {
  std::vector<ShapeIndex> places;
  ForEachLeaf(shape, [&places](Shape leaf, const ShapeIndex& index) {
    if (leaf.IsBuffer()) places.push_back(index);
  });
  return places;
}

bool IsBufferTarget(std::string_view target) {
  return target == "Pin" || target == "Unpin" || target == "CreateBuffer";
}

// Pin makes a buffer of an array, Unpin an array of a buffer.
void CheckPin(const VerifyContext& context, const Instruction& call, bool pins) {
  const Shape from = call.operand_count() == 1 ? call.operand(0)->shape() : Shape();
  const Shape to = call.shape();
  const std::string_view target = pins ? "Pin" : "Unpin";
  const bool shapes = pins ? from.IsArray() && to.IsBuffer() : from.IsBuffer() && to.IsArray();
  if (!shapes) {
    context.findings.Add(call.loc(), "`{}` makes `{}` of {}, expected {} for `{}`", call.name(), to,
                         call.operand_count() == 1
                             ? fmt::format("`{}`", from)
                             : fmt::format("{} operands", call.operand_count()),
                         pins ? "a buffer of one array" : "an array of one buffer", target);
    return;
  }
  const OutputOperandAliases& aliases = call.attrs<CustomCallAttrs>().output_to_operand_aliasing;
  if (aliases.size() == 1 && aliases[0].output.empty() && aliases[0].operand == 0 &&
      aliases[0].operand_index.empty())
    return;
  context.findings.Add(call.loc(),
                       "`{}` has {} entries in `output_to_operand_aliasing`, expected "
                       "{{{{}}: (0, {{}})}} for `{}`",
                       call.name(), aliases.size(), target);
}

class BufferVerifier {
 public:
  explicit BufferVerifier(const VerifyContext& context) : findings_(context.findings) {}

  void Verify(const Instruction& instruction) {
    const bool gives = HasBuffer(instruction.shape());
    const Instruction* taken = nullptr;
    for (const Instruction* operand : instruction.operands()) {
      if (taken == nullptr && HasBuffer(operand->shape())) taken = operand;
    }
    if ((gives || taken != nullptr) && !MayHoldBuffers(instruction)) {
      const Instruction& holder = gives ? instruction : *taken;
      findings_.Add(instruction.loc(), "`{}` of shape `{}` is a buffer, which `{}` {}",
                    holder.name(), holder.shape(), instruction.opcode_text(),
                    instruction.opcode() == Opcode::kParameter
                        ? "of the entry cannot be"
                        : (gives ? "cannot give" : "cannot take"));
      return;
    }
    if (instruction.opcode() == Opcode::kCustomCall && (gives || taken != nullptr)) {
      const CustomCallAttrs& attrs = instruction.attrs<CustomCallAttrs>();
      if (!IsBufferTarget(attrs.custom_call_target))
        CheckAliases(instruction, attrs.output_to_operand_aliasing);
    }
    const bool hands_on =
        instruction.opcode() == Opcode::kTuple || instruction.opcode() == Opcode::kGetTupleElement;
    if (gives && !hands_on) CheckWriters(instruction);
  }

 private:
  void CheckAliases(const Instruction& call, const OutputOperandAliases& aliases) {
    for (int i = 0; i < call.operand_count(); ++i) {
      for (const ShapeIndex& place : BuffersIn(call.operand(i)->shape())) {
        const auto count = std::count_if(aliases.begin(), aliases.end(), [&](const auto& alias) {
          return alias.operand == i && alias.operand_index == place;
        });
        if (count == 1) continue;
        findings_.Add(call.loc(),
                      "`{}` aliases buffer {} of operand {}, `{}`, with {} results, expected one",
                      call.name(), ToString(place), i, call.operand(i)->name(), count);
        return findings_.NoteDefinition(*call.operand(i));
      }
    }
    for (const ShapeIndex& place : BuffersIn(call.shape())) {
      if (std::any_of(aliases.begin(), aliases.end(),
                      [&](const auto& alias) { return alias.output == place; }))
        continue;
      return findings_.Add(call.loc(),
                           "buffer {} of the result of `{}`, `{}`, is aliased with no operand",
                           ToString(place), call.name(), call.shape());
    }
  }

  struct Value {
    const Instruction* instruction;
    ShapeIndex index;
  };

  void CheckWriters(const Instruction& producer) {
    for (const ShapeIndex& place : BuffersIn(producer.shape())) {
      std::vector<Value> values = {{&producer, place}};
      const Instruction* writer = nullptr;
      while (!values.empty()) {
        const Value value = std::move(values.back());
        values.pop_back();
        if (IsRootOfLoopBody(*value.instruction) &&
            !NoteWriter(producer, place, *value.instruction, writer))
          return;
        for (const Use& use : value.instruction->uses()) {
          if (use.user->opcode() == Opcode::kTuple) {
            ShapeIndex inside = {use.operand_index};
            inside.insert(inside.end(), value.index.begin(), value.index.end());
            values.push_back({use.user, std::move(inside)});
          } else if (use.user->opcode() == Opcode::kGetTupleElement) {
            if (value.index[0] != use.user->tuple_index()) continue;
            values.push_back({use.user, ShapeIndex(value.index.begin() + 1, value.index.end())});
          } else if (!NoteWriter(producer, place, *use.user, writer)) {
            return;
          }
        }
      }
    }
  }

  static bool IsRootOfLoopBody(const Instruction& instruction) {
    if (!instruction.is_root()) return false;
    const auto callers = instruction.parent()->callers();
    return std::any_of(callers.begin(), callers.end(), [](const CallSite& site) {
      return site.caller->opcode() == Opcode::kWhile && site.call_index == 1;
    });
  }

  // False after a message: `writer` writes already.
  bool NoteWriter(const Instruction& producer, const ShapeIndex& place, const Instruction& next,
                  const Instruction*& writer) {
    if (writer == nullptr) {
      writer = &next;
      return true;
    }
    const std::string what = fmt::format(
        "buffer {}`{}`", place.empty() ? "" : ToString(place) + " of ", producer.name());
    if (writer == &next) {
      findings_.Add(producer.loc(), "{} is written twice by `{}`", what, next.name());
      findings_.NoteDefinition(next);
      return false;
    }
    // In the order of the text.
    const bool later = writer->id() < next.id();
    const Instruction& first = later ? *writer : next;
    const Instruction& second = later ? next : *writer;
    findings_.Add(producer.loc(), "{} is written by both `{}` and `{}`", what, first.name(),
                  second.name());
    findings_.NoteDefinition(second);
    return false;
  }

  Findings& findings_;
};

}  // namespace

void VerifyBufferTarget(const VerifyContext& context, const Instruction& call) {
  const std::string_view target = call.attrs<CustomCallAttrs>().custom_call_target;
  if (target == "Pin" || target == "Unpin") return CheckPin(context, call, target == "Pin");
  if (target != "CreateBuffer" || (call.operand_count() == 0 && call.shape().IsBuffer())) return;
  context.findings.Add(
      call.loc(),
      "`{}` has {} operands and shape `{}`, expected none and a buffer for `CreateBuffer`",
      call.name(), call.operand_count(), call.shape());
}

void VerifyBuffers(const VerifyContext& context) {
  if (!context.findings.empty()) return;  // indices may lead nowhere
  BufferVerifier verifier(context);
  for (const Computation* computation : context.module.computations()) {
    if (IsCalledAsynchronously(*computation)) continue;
    for (const Instruction* instruction : computation->instructions()) {
      verifier.Verify(*instruction);
      if (context.findings.full()) return;
    }
  }
}

}  // namespace hlo::internal
