// Sizes travel through loops, branches and calls as scalars beside the arrays:
//
//   w = (s32[], f32[<=6]) while(t)    =>    w = (s32[], f32[6], s32[]) while(tuple(i, x, n))
//
// A dynamic array of a state, of the operand of a branch or of a result has a size everywhere: the
// bound, where it happens to be whole.
#include <numeric>

#include "lib/analysis/leaves.h"
#include "passes/dynamic/size_inference.h"
#include "passes/util/loop_state.h"

namespace hlo {
namespace {

// A dimension of a leaf.
struct SizePlace {
  int64_t leaf;
  int64_t dim;
  int64_t bound;
};
using SizePlaces = std::vector<SizePlace>;

// Where one of `values`, which have one shape but for sizes, is dynamic.
SizePlaces DynamicPlaces(const SizeInference& in, const std::vector<Instruction*>& values) {
  SizePlaces places;
  const std::vector<Shape> leaves = LeafShapes(values[0]->shape());
  std::vector<std::vector<Shape>> shapes;
  for (const Instruction* value : values) shapes.push_back(LeafShapes(value->shape()));
  for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    if (!leaves[leaf].IsArray()) continue;
    for (int dim = 0; dim < leaves[leaf].rank(); ++dim) {
      bool is_dynamic = false;
      for (size_t i = 0; i < values.size(); ++i) {
        is_dynamic = is_dynamic || shapes[i][leaf].is_dynamic(dim) ||
                     in.Size(values[i], static_cast<int64_t>(leaf), dim) != nullptr;
      }
      if (is_dynamic) places.push_back({static_cast<int64_t>(leaf), dim, leaves[leaf].dim(dim)});
    }
  }
  return places;
}

// The sizes of a value in these places.
absl::StatusOr<std::vector<Instruction*>> SizesAt(const SizeInference& in, Builder& builder,
                                                  const Instruction& value,
                                                  const SizePlaces& places) {
  std::vector<Instruction*> sizes;
  const std::vector<Shape> leaves = LeafShapes(value.shape());
  for (const SizePlace& place : places) {
    Instruction* size = in.Size(&value, place.leaf, place.dim);
    if (size == nullptr &&
        leaves[static_cast<size_t>(place.leaf)].is_dynamic(static_cast<int>(place.dim))) {
      return Unsupported(value.loc(), "the size of dimension {} of `{}` is not known", place.dim,
                         NameOfLeaf(value, place.leaf));
    }
    sizes.push_back(size != nullptr ? size : SizeConstant(builder, place.bound));
  }
  return sizes;
}

// A tuple of what `value` consists of and of `sizes`, those of all its dynamic dimensions that it
// does not hold itself.
Instruction* TupleWith(Instruction* value, const std::vector<Instruction*>& sizes) {
  Builder builder = BuilderFor(*value);
  std::vector<Instruction*> elements;
  if (value->shape().IsTuple()) {
    for (int i = 0; i < value->shape().element_count_of_tuple(); ++i)
      elements.push_back(ReadElement(builder, value, i));
  } else {
    elements.push_back(value);
  }
  elements.insert(elements.end(), sizes.begin(), sizes.end());
  Instruction* tuple = builder.Tuple(elements);
  tuple->set_shape(tuple->shape().WithoutDynamic());  // the sizes of all arrays are there
  return tuple;
}

// A tuple of what `value` consists of and the sizes in `places`.
absl::StatusOr<Instruction*> WithSizes(const SizeInference& in, Instruction* value,
                                       const SizePlaces& places) {
  Builder builder = BuilderFor(*value);
  ASSIGN_OR_RETURN(const std::vector<Instruction*> sizes, SizesAt(in, builder, *value, places));
  return TupleWith(value, sizes);
}

// Element `index` of a tuple, by an instruction that is there already if there is one: sizes are
// equal when they are one value.
Instruction* SharedElement(Builder& builder, Instruction* tuple, int64_t index) {
  for (const Use& use : tuple->uses()) {
    if (use.user->opcode() == Opcode::kGetTupleElement && use.user->tuple_index() == index)
      return use.user;
  }
  return builder.GetTupleElement(tuple, index);
}

// What a value, as a tuple, consists of.
int64_t ElementCount(const Instruction& value) {
  return value.shape().IsTuple() ? value.shape().element_count_of_tuple() : 1;
}

// Makes room in `value`, which gets its elements from elsewhere, for `count` sizes; the size of
// `places[i]` is element `elements[i]`.
absl::Status GrowBySizes(SizeInference& in, Instruction* value, const SizePlaces& places,
                         const std::vector<int64_t>& elements, size_t count) {
  const bool was_tuple = value->shape().IsTuple();
  Instruction* old_form = nullptr;
  if (count > 0)
    old_form = GrowTuple(value, std::vector<Shape>(count, Shape::Scalar(ElementType::kS32)));
  Builder builder = BuilderFor(*value);
  for (size_t i = 0; i < places.size(); ++i) {
    in.Set(value, places[i].leaf, places[i].dim, SharedElement(builder, value, elements[i]));
  }
  if (old_form == nullptr) return builder.status();
  if (!was_tuple) return InferTupleElement(in, old_form);
  for (Instruction* element : old_form->operands()) RETURN_IF_ERROR(InferTupleElement(in, element));
  RETURN_IF_ERROR(InferTuple(in, old_form));
  return builder.status();
}

// The same with a size for each place, one after the other.
absl::Status GrowBySizes(SizeInference& in, Instruction* value, const SizePlaces& places) {
  std::vector<int64_t> elements(places.size());
  absl::c_iota(elements, ElementCount(*value));
  return GrowBySizes(in, value, places, elements, places.size());
}

absl::Status GrowRoot(const SizeInference& in, Computation& computation, const SizePlaces& places) {
  Instruction* root = computation.root();
  ASSIGN_OR_RETURN(Instruction* const tuple, WithSizes(in, root, places));
  computation.set_root(tuple);
  return absl::OkStatus();
}

}  // namespace

absl::Status InferWhile(SizeInference& in, Instruction* loop) {
  Computation* body = loop->while_body();
  Computation* condition = loop->while_condition();
  const SizePlaces places = DynamicPlaces(in, {loop->operand(0), loop});
  if (!places.empty()) {
    ASSIGN_OR_RETURN(Instruction* const init, WithSizes(in, loop->operand(0), places));
    loop->ReplaceOperand(0, init);
    for (Computation* called : {condition, body})
      RETURN_IF_ERROR(GrowBySizes(in, called->parameter(0), places));
  }
  RETURN_IF_ERROR(in.Infer(*body));
  RETURN_IF_ERROR(in.Infer(*condition));
  if (places.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(GrowRoot(in, *body, places));
  return GrowBySizes(in, loop, places);
}

// Hands the sizes of what branch `i` gets to it: what is an element of the tuple already is not
// added to it, and a size of several dimensions is added once.
static absl::Status HandToBranch(SizeInference& in, Instruction* conditional, int i) {
  Instruction* operand = conditional->operand(i + 1);
  Instruction* parameter = conditional->call(i)->parameter(0);
  const SizePlaces places = DynamicPlaces(in, {operand, parameter});
  if (places.empty()) return absl::OkStatus();
  Builder builder = BuilderFor(*operand);
  ASSIGN_OR_RETURN(const std::vector<Instruction*> sizes, SizesAt(in, builder, *operand, places));
  RETURN_IF_ERROR(builder.status());
  std::vector<Instruction*> held, added;
  if (operand->opcode() == Opcode::kTuple) held = operand->operand_vector();
  std::vector<int64_t> elements;
  for (Instruction* size : sizes) {
    const auto in_tuple = absl::c_find(held, size);
    if (in_tuple != held.end()) {
      elements.push_back(in_tuple - held.begin());
      continue;
    }
    const auto at = absl::c_find(added, size);
    elements.push_back(ElementCount(*operand) + (at - added.begin()));
    if (at == added.end()) added.push_back(size);
  }
  if (!added.empty()) conditional->ReplaceOperand(i + 1, TupleWith(operand, added));
  return GrowBySizes(in, parameter, places, elements, added.size());
}

absl::Status InferConditional(SizeInference& in, Instruction* conditional) {
  std::vector<Instruction*> results = {conditional};
  for (int i = 0; i < conditional->call_count(); ++i) {
    Computation* branch = conditional->call(i);
    RETURN_IF_ERROR(HandToBranch(in, conditional, i));
    RETURN_IF_ERROR(in.Infer(*branch));
    results.push_back(branch->root());
  }
  const SizePlaces places = DynamicPlaces(in, results);
  if (places.empty()) return absl::OkStatus();
  for (Computation* branch : conditional->calls()) RETURN_IF_ERROR(GrowRoot(in, *branch, places));
  return GrowBySizes(in, conditional, places);
}

absl::Status InferCall(SizeInference& in, Instruction* call) {
  Computation* callee = call->call(0);
  Builder builder = BuilderFor(*call);
  const int count = call->operand_count();
  for (int i = 0; i < count; ++i) {
    Instruction* parameter = callee->parameter(i);
    const SizePlaces places = DynamicPlaces(in, {call->operand(i), parameter});
    ASSIGN_OR_RETURN(const std::vector<Instruction*> sizes,
                     SizesAt(in, builder, *call->operand(i), places));
    for (size_t k = 0; k < places.size(); ++k) {
      call->AppendOperand(sizes[k]);
      Instruction* size =
          callee->AddParameter(callee->parameter_count(), Shape::Scalar(ElementType::kS32), "size");
      in.Set(parameter, places[k].leaf, places[k].dim, size);
    }
  }
  RETURN_IF_ERROR(in.Infer(*callee));
  const SizePlaces places = DynamicPlaces(in, {call, callee->root()});
  if (places.empty()) return builder.status();
  RETURN_IF_ERROR(GrowRoot(in, *callee, places));
  return GrowBySizes(in, call, places);
}

}  // namespace hlo
