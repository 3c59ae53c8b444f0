// Sources of dynamic arrays (parameters, infeeds, custom calls) become static where somebody needs
// them so.
//
//   x = f32[<=6] parameter(0)            x = f32[<=6] parameter(0)
//   y = f32[<=6] negate(x)               p = (f32[6], s32[]) custom-call(x), custom_call_target="PadToStatic"
//                                  =>    d = f32[6] get-tuple-element(p), index=0
//                                        n = s32[] get-tuple-element(p), index=1        the size of d
//                                        y = f32[<=6] negate(d)
#include <set>

#include "lib/analysis/leaves.h"
#include "lib/ops/opcode_groups.h"
#include "passes/dynamic/size_inference.h"

namespace hlo {
namespace {

using LeafOfValue = std::pair<const Instruction*, int64_t>;

constexpr std::string_view kKeepDynamic[] = {"PadToStatic", "Sharding", "SPMDFullToShardShape",
                                             "SPMDShardToFullShape"};

// Where a leaf goes when its reader only hands it on; says whether the reader is such a one.
bool FollowHandedOn(const Use& use, int64_t leaf, std::vector<LeafOfValue>& next) {
  const Instruction* user = use.user;
  const int operand = use.operand_index;
  const Opcode opcode = user->opcode();
  if (opcode == Opcode::kTuple) {
    next.emplace_back(user, FirstLeaf(user->shape(), operand) + leaf);
  } else if (opcode == Opcode::kGetTupleElement) {
    const Shape tuple = user->operand(0)->shape();
    const int64_t first = FirstLeaf(tuple, user->tuple_index());
    const int64_t count = LeafCount(tuple.element(static_cast<int>(user->tuple_index())));
    if (leaf >= first && leaf < first + count) next.emplace_back(user, leaf - first);
  } else if (opcode == Opcode::kCall) {
    next.emplace_back(user->call(0)->parameter(operand), leaf);
  } else if (opcode == Opcode::kConditional && operand > 0) {
    next.emplace_back(user->call(operand - 1)->parameter(0), leaf);
  } else if (opcode == Opcode::kWhile) {
    next.emplace_back(user, leaf);
    for (const Computation* called : user->calls()) next.emplace_back(called->parameter(0), leaf);
  } else {
    return kAsyncOps.Has(opcode);
  }
  return true;
}

// What the computation of a root returns it to.
void FollowRoot(const Instruction& root, int64_t leaf, std::vector<LeafOfValue>& next) {
  for (const CallSite& site : root.parent()->callers()) {
    const Instruction* caller = site.caller;
    const bool returns =
        kProgramCallers.Has(caller->opcode()) &&
        (caller->opcode() != Opcode::kWhile || caller->while_body() == root.parent());
    if (!returns) continue;
    next.emplace_back(caller, leaf);
    if (caller->opcode() == Opcode::kWhile) {
      for (const Computation* called : caller->calls())
        next.emplace_back(called->parameter(0), leaf);
    }
  }
}

bool TakesDynamic(const Instruction& reader, const SupportOf& support) {
  for (const std::string_view target : kKeepDynamic) {
    if (IsCustomCall(reader, target)) return true;
  }
  return support && support(reader) != DynamismSupport::kNone;
}

}  // namespace

bool IsNeededWhole(const Instruction& value, int64_t leaf, const SupportOf& support,
                   bool by_control_flow) {
  std::vector<LeafOfValue> stack = {{&value, leaf}};
  std::set<std::pair<uint32_t, int64_t>> seen;
  while (!stack.empty()) {
    const auto [at, number] = stack.back();
    stack.pop_back();
    if (!seen.emplace(at->id(), number).second) continue;
    if (at->is_root()) FollowRoot(*at, number, stack);
    for (const Use& use : at->uses()) {
      if (by_control_flow && kProgramCallers.Has(use.user->opcode())) return true;
      if (!FollowHandedOn(use, number, stack) && !TakesDynamic(*use.user, support)) return true;
    }
  }
  return false;
}

// Part of a value from its leaf `leaf` on, which is counted up, with its padded leaves.
Instruction* SizeInference::PaddedPart(Instruction* part, int64_t& leaf,
                                       const std::vector<bool>& pads) {
  Builder builder = BuilderFor(*part);
  const Shape shape = part->shape();
  if (shape.IsTuple()) {
    std::vector<Instruction*> elements;
    for (int i = 0; i < shape.element_count_of_tuple(); ++i)
      elements.push_back(PaddedPart(builder.GetTupleElement(part, i), leaf, pads));
    Instruction* tuple = builder.Tuple(elements);
    (void)InferTuple(*this, tuple);
    return tuple;
  }
  if (!pads[static_cast<size_t>(leaf++)]) return part;
  const std::string name(part->name());
  std::vector<Shape> shapes = {shape.WithoutDynamic()};
  shapes.resize(static_cast<size_t>(shape.rank()) + 1, Shape::Scalar(ElementType::kS32));
  CustomCallAttrs attrs;
  attrs.custom_call_target = {"PadToStatic"};
  Computation* computation = part->parent();
  Instruction* padded = computation->Add(Opcode::kCustomCall, Shape::Tuple(shapes), {part},
                                         AttrsPtr::Make(std::move(attrs)), {}, name + ".padded");
  const auto element = [&](int64_t i, const char* suffix) {
    return computation->Add(Opcode::kGetTupleElement, shapes[static_cast<size_t>(i)], {padded},
                            AttrsPtr::Make(GetTupleElementAttrs{i}), {}, name + suffix);
  };
  Instruction* data = element(0, ".data");
  for (const DynamicSize& known : SizesOf(part)) Note(data, 0, known.dim, known.size);
  for (int dim = 0; dim < shape.rank(); ++dim) {
    if (shape.is_dynamic(dim)) Note(data, 0, dim, element(dim + 1, ".size"));
  }
  return data;
}

absl::Status SizeInference::PadToStatic(Instruction* value) {
  if (!value->shape().has_dynamic_dims()) return absl::OkStatus();
  const std::vector<Shape> leaves = LeafShapes(value->shape());
  std::vector<bool> pads;
  for (size_t i = 0; i < leaves.size(); ++i) {
    pads.push_back(leaves[i].IsArray() && leaves[i].has_dynamic_dims() &&
                   IsNeeded(*value, static_cast<int64_t>(i)));
  }
  if (!absl::c_linear_search(pads, true)) return absl::OkStatus();
  const std::vector<Use> uses(value->uses().begin(), value->uses().end());
  int64_t leaf = 0;
  Instruction* padded = PaddedPart(value, leaf, pads);
  for (const Use& use : uses) {
    if (!IsCustomCall(*use.user, "PadToStatic"))
      use.user->ReplaceOperand(use.operand_index, padded);
  }
  if (value->is_root()) value->parent()->set_root(padded);
  return absl::OkStatus();
}

}  // namespace hlo
