#include "tools/run/custom_calls.h"

#include <utility>

#include "lib/eval/ffi_library.h"
#include "lib/ir/builder.h"
#include "lib/ir/custom_call.h"
#include "lib/support/status.h"

namespace hlo {
namespace {

constexpr std::string_view kFlag = "--custom-call";

using Meaning = absl::StatusOr<Instruction*> (*)(Builder& builder, const Instruction& call);

// The operands, in order, are the parts of the result.
absl::StatusOr<Instruction*> OperandsOf(Builder& builder, const Instruction& call) {
  if (call.operand_count() > 0 && Compatible(call.operand(0)->shape(), call.shape()))
    return call.operand(0);
  const bool fits =
      call.shape().IsTuple() && call.shape().element_count_of_tuple() <= call.operand_count();
  std::vector<Instruction*> parts;
  for (int i = 0; fits && i < call.shape().element_count_of_tuple(); ++i) {
    if (Compatible(call.operand(i)->shape(), call.shape().element(i)))
      parts.push_back(call.operand(i));
  }
  if (fits && std::ssize(parts) == call.shape().element_count_of_tuple())
    return builder.OpWithShape(Opcode::kTuple, call.shape(), parts);
  return Error(call.loc(), "`{}` makes `{}`, which is not what its operands are; try `{}={}=zeros`",
               call.name(), call.shape(), kFlag, call.attrs<CustomCallAttrs>().custom_call_target);
}

absl::StatusOr<Instruction*> ZerosOfShape(Builder& builder, Shape shape, const Instruction& call) {
  if (shape.IsTuple()) {
    std::vector<Instruction*> parts;
    for (const Shape element : shape.elements()) {
      ASSIGN_OR_RETURN(Instruction * part, ZerosOfShape(builder, element, call));
      parts.push_back(part);
    }
    return builder.OpWithShape(Opcode::kTuple, shape, parts);
  }
  if (shape.IsToken()) return builder.OpWithShape(Opcode::kAfterAll, shape, {});
  if (!shape.IsArray()) return Unsupported(call.loc(), "there are no zeros of shape `{}`", shape);
  Instruction* zero = builder.Constant(Literal::Zero(shape.element_type()));
  if (shape.rank() == 0) return zero;
  BroadcastAttrs attrs;
  return builder.OpWithShape(Opcode::kBroadcast, shape.WithoutDynamic(), {zero},
                             AttrsPtr::Make(std::move(attrs)));
}
absl::StatusOr<Instruction*> ZerosOf(Builder& builder, const Instruction& call) {
  return ZerosOfShape(builder, call.shape(), call);
}

constexpr std::pair<std::string_view, Meaning> kMeanings[] = {{"identity", OperandsOf},
                                                              {"zeros", ZerosOf}};

struct TargetMeaning {
  std::string_view target;
  Meaning meaning = nullptr;  // null: a handler in a library
  std::string_view library;
};

// NAME=MEANING; targets may hold `=` themselves.
absl::StatusOr<TargetMeaning> Parse(std::string_view text) {
  const size_t split = text.rfind('=');
  if (split != std::string_view::npos && split > 0) {
    const std::string_view target = text.substr(0, split), word = text.substr(split + 1);
    if (word.size() > 1 && word[0] == '@') return TargetMeaning{target, nullptr, word.substr(1)};
    for (const auto& [known, meaning] : kMeanings) {
      if (word == known) return TargetMeaning{target, meaning, ""};
    }
  }
  return Error("`{}` expects NAME=identity, NAME=zeros or NAME=@LIBRARY, found `{}`", kFlag, text);
}

absl::Status ReplaceCalls(Module& module, const TargetMeaning& wanted, std::string_view text) {
  int found = 0;
  for (Computation* computation : module.computations()) {
    for (Instruction* call : computation->instruction_vector()) {
      if (!IsCustomCall(*call, wanted.target)) continue;
      ++found;
      if (wanted.meaning == nullptr) continue;
      Builder builder(computation, call);
      ASSIGN_OR_RETURN(Instruction * value, wanted.meaning(builder, *call));
      RETURN_IF_ERROR(builder.status());
      computation->Replace(call, value);
    }
  }
  if (found == 0) return Error("`{}={}`: the module has no such custom call", kFlag, text);
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckMeanings(const std::vector<std::string>& meanings) {
  for (const std::string& meaning : meanings) RETURN_IF_ERROR(Parse(meaning).status());
  return absl::OkStatus();
}

absl::Status GiveMeanings(Module& module, const std::vector<std::string>& meanings) {
  for (const std::string& text : meanings) {
    ASSIGN_OR_RETURN(const TargetMeaning wanted, Parse(text));
    RETURN_IF_ERROR(ReplaceCalls(module, wanted, text));
    if (wanted.meaning == nullptr) {
      RETURN_IF_ERROR(LoadCustomCall(std::string(wanted.target), std::string(wanted.library)));
    }
  }
  if (!meanings.empty()) {
    module.ClearSchedule();
    module.Sweep();
  }
  return absl::OkStatus();
}

}  // namespace hlo
