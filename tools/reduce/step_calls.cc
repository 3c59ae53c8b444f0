#include <algorithm>

#include "lib/ir/any_instruction.h"
#include "tools/reduce/edits.h"
#include "tools/reduce/steps.h"

namespace hlo {
namespace {

// The bodies that may stand in the place of an instruction, with the operands of each.
struct BodyChoice {
  Computation* callee = nullptr;
  std::vector<Instruction*> operands;
};

std::vector<BodyChoice> BodiesOf(const Instruction& instruction) {
  std::vector<BodyChoice> choices;
  if (instruction.opcode() == Opcode::kCall || instruction.opcode() == Opcode::kFusion) {
    choices.push_back({instruction.call(0), instruction.operand_vector()});
  } else if (instruction.opcode() == Opcode::kWhile) {
    choices.push_back({instruction.while_body(), instruction.operand_vector()});
  } else if (instruction.opcode() == Opcode::kConditional) {
    for (int i = 0; i < instruction.call_count() && i + 1 < instruction.operand_count(); ++i)
      choices.push_back({instruction.call(i), {instruction.operand(i + 1)}});
  }
  return choices;
}

std::vector<std::string> NamesWithBodies(const Module& module) {
  std::vector<std::string> names;
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* instruction : computation->PostOrder()) {
      if (!BodiesOf(*instruction).empty()) names.emplace_back(instruction->name());
    }
  }
  std::reverse(names.begin(), names.end());
  return names;
}

// The body number `choice`, or the last one there is.
bool InlineNamed(Module& module, std::span<const std::string> names, size_t choice) {
  const int64_t limit = 2 * module.instruction_count() + 50;
  bool changed = false;
  for (const std::string& name : names) {
    Instruction* instruction = module.FindInstruction(name);
    if (instruction == nullptr) continue;
    const std::vector<BodyChoice> choices = BodiesOf(*instruction);
    if (choices.empty()) continue;
    const BodyChoice& body = choices[std::min(choice, choices.size() - 1)];
    changed |= SubstituteBody(instruction, body.callee, body.operands);
    if (module.instruction_count() > limit) return false;  // called too often
  }
  ForwardTupleElements(module);
  return changed;
}

// ---- loops ----

// Whether `value` is only read element by element.
bool IsReadByElements(const Instruction& value) {
  if (value.is_root()) return false;
  const std::vector<Instruction*> users = value.users();
  return std::all_of(users.begin(), users.end(), [](const Instruction* user) {
    return user->opcode() == Opcode::kGetTupleElement;
  });
}

// `tuple` without element `index`, in its computation.
Instruction* WithoutElement(Instruction* tuple, int64_t index) {
  std::vector<Instruction*> operands = tuple->operand_vector();
  operands.erase(operands.begin() + index);
  std::vector<Shape> shapes;
  for (const Instruction* operand : operands) shapes.push_back(operand->shape());
  return tuple->parent()->Add(Opcode::kTuple, Shape::Tuple(shapes), operands);
}

// `value`, whose element `index` is going, is read in its new shape; readers of the element read
// `instead`.
void MoveReaders(Instruction* value, int64_t index, Instruction* instead) {
  for (Instruction* user : value->users()) {
    const int64_t at = user->tuple_index();
    if (at == index) Substitute(user, instead);
    if (at > index) user->SetAttrs(GetTupleElementAttrs{at - 1});
  }
}

// The value as a tuple instruction, made of its elements where it is none.
Instruction* AsTuple(Instruction* value) {
  if (value->opcode() == Opcode::kTuple) return value;
  Computation& computation = *value->parent();
  std::vector<Instruction*> elements;
  for (const Shape& shape : value->shape().elements()) {
    elements.push_back(computation.Add(Opcode::kGetTupleElement, shape, {value},
                                       AttrsPtr::Make(GetTupleElementAttrs{std::ssize(elements)})));
  }
  return computation.Add(Opcode::kTuple, value->shape(), elements);
}

bool DropLoopElement(Instruction* loop, int64_t index) {
  if (!loop->shape().IsTuple()) return false;
  Instruction* init = AsTuple(loop->operand(0));
  Computation* condition = loop->while_condition();
  Computation* body = loop->while_body();
  Instruction* body_root = body->root();
  if (body_root->opcode() != Opcode::kTuple || index >= init->operand_count() ||
      init->operand_count() < 2 || condition->callers().size() != 1 ||
      body->callers().size() != 1 || condition == body)
    return false;
  Instruction* in_condition = condition->parameter(0);
  Instruction* in_body = body->parameter(0);
  if (!IsReadByElements(*loop) || !IsReadByElements(*in_condition) || !IsReadByElements(*in_body))
    return false;
  const Shape going = init->shape().element(static_cast<int>(index));
  for (Instruction* parameter : {in_condition, in_body}) {
    Instruction* zero = MakeZero(*parameter->parent(), going);
    if (zero == nullptr) return false;
    MoveReaders(parameter, index, zero);
  }
  MoveReaders(loop, index, init->operand(static_cast<int>(index)));
  Instruction* fewer = WithoutElement(init, index);
  loop->ReplaceOperand(0, fewer);
  loop->set_shape(fewer->shape());
  in_condition->set_shape(fewer->shape());
  in_body->set_shape(fewer->shape());
  body->set_root(WithoutElement(body_root, index));
  if (!body_root->has_uses()) body->Remove(body_root);
  return true;
}

// ---- reductions and sorts ----

// Reductions of several arrays without the one at `index`; what is computed for the others reads
// zeros in its place.
bool DropReduceOperand(Instruction* reduce, int64_t index) {
  Computation* reducer = reduce->to_apply();
  const int64_t count = reduce->operand_count() / 2;
  Instruction* root = reducer->root();
  if (index >= count || count < 2 || reducer->callers().size() != 1 ||
      root->opcode() != Opcode::kTuple || !reduce->shape().IsTuple() || !IsReadByElements(*reduce))
    return false;
  Instruction* zero = MakeZero(*reduce->parent(), reduce->shape().element(static_cast<int>(index)));
  if (zero == nullptr) return false;
  std::vector<Shape> shapes(reduce->shape().elements().begin(), reduce->shape().elements().end());
  shapes.erase(shapes.begin() + index);
  MoveReaders(reduce, index, zero);
  for (const int64_t number : {count + index, index}) {
    Instruction* parameter = reducer->parameter(static_cast<int>(number));
    if (parameter->has_uses()) Substitute(parameter, MakeZero(*reducer, parameter->shape()));
    reduce->RemoveOperand(static_cast<int>(number));
  }
  Instruction* fewer = WithoutElement(root, index);
  if (count == 2) fewer = fewer->operand(0);
  reducer->set_root(fewer);
  if (!root->has_uses()) reducer->Remove(root);
  for (const int64_t number : {count + index, index})
    reducer->RemoveParameter(static_cast<int>(number));
  if (count > 2) {
    reduce->set_shape(Shape::Tuple(shapes));
    return true;
  }
  reduce->set_shape(shapes[0]);
  for (Instruction* user : reduce->users()) Substitute(user, reduce);
  return true;
}

// Sorts without the operand `index`, which the comparison reads zeros of.
bool DropSortOperand(Instruction* sort, int64_t index) {
  Computation* comparison = sort->to_apply();
  const int64_t count = sort->operand_count();
  if (index >= count || count < 2 || comparison->callers().size() != 1 || !IsReadByElements(*sort))
    return false;
  for (int side = 1; side >= 0; --side) {
    const int number = static_cast<int>(2 * index + side);
    Instruction* parameter = comparison->parameter(number);
    if (parameter->is_root()) return false;
    if (parameter->has_uses()) Substitute(parameter, MakeZero(*comparison, parameter->shape()));
    comparison->RemoveParameter(number);
  }
  MoveReaders(sort, index, sort->operand(static_cast<int>(index)));
  sort->RemoveOperand(static_cast<int>(index));
  if (count > 2) {
    sort->set_shape(Shape::Tuple(sort->operand_shapes()));
    return true;
  }
  // One operand is left: the result is no tuple any more.
  sort->set_shape(sort->operand(0)->shape());
  for (Instruction* user : sort->users()) Substitute(user, sort);
  return true;
}

}  // namespace

bool NarrowSorts(Reducer& reducer) {
  reducer.set_step("sorts and reductions");
  const auto drop = [](Instruction* instruction, int64_t index) {
    if (instruction->opcode() == Opcode::kSort) return DropSortOperand(instruction, index);
    return instruction->opcode() == Opcode::kReduce && DropReduceOperand(instruction, index);
  };
  bool improved = false;
  std::vector<std::pair<std::string, int>> found;
  for (const Instruction* instruction : AllInstructions(reducer.best())) {
    if (!instruction->shape().IsTuple()) continue;
    if (instruction->opcode() == Opcode::kSort || instruction->opcode() == Opcode::kReduce)
      found.emplace_back(instruction->name(), instruction->shape().element_count_of_tuple());
  }
  for (const auto& [name, count] : found) {
    for (int64_t index = count; index-- > 0 && !reducer.is_done();) {
      improved |= reducer.Try([&](Module& module) {
        Instruction* instruction = module.FindInstruction(name);
        return instruction != nullptr && drop(instruction, index);
      });
    }
  }
  return improved;
}

bool InlineBodies(Reducer& reducer) {
  reducer.set_step("calls");
  bool improved = false;
  for (size_t choice = 0; choice < 4 && !reducer.is_done(); ++choice) {
    const std::vector<std::string> names = NamesWithBodies(reducer.best());
    improved |= reducer.TryChunks(names, [&](Module& module, std::span<const std::string> some) {
      return InlineNamed(module, some, choice);
    });
  }
  return improved;
}

bool NarrowLoops(Reducer& reducer) {
  reducer.set_step("loops");
  bool improved = false;
  std::vector<std::pair<std::string, int64_t>> loops;
  for (const Instruction* instruction : AllInstructions(reducer.best())) {
    if (instruction->opcode() == Opcode::kWhile && instruction->shape().IsTuple())
      loops.emplace_back(instruction->name(), instruction->shape().element_count_of_tuple());
  }
  for (const auto& [name, count] : loops) {
    for (int64_t index = count; index-- > 0 && !reducer.is_done();) {
      improved |= reducer.Try([&](Module& module) {
        Instruction* loop = module.FindInstruction(name);
        return loop != nullptr && DropLoopElement(loop, index);
      });
    }
  }
  return improved;
}

bool NarrowCalls(Reducer& reducer) {
  reducer.set_step("operands of calls");
  return reducer.Try([](Module& module) {
    bool changed = false;
    for (Computation* callee : module.computations()) {
      const auto is_call = [](const CallSite& site) {
        return site.caller->opcode() == Opcode::kCall || site.caller->opcode() == Opcode::kFusion;
      };
      if (callee->is_entry() || callee->callers().empty() ||
          !std::all_of(callee->callers().begin(), callee->callers().end(), is_call))
        continue;
      for (int i = callee->parameter_count(); i-- > 0;) {
        const Instruction* parameter = callee->parameter(i);
        if (parameter->is_used() || parameter->has_control_edges()) continue;
        callee->RemoveParameterAndOperands(i);
        changed = true;
      }
    }
    return changed;
  });
}

}  // namespace hlo
