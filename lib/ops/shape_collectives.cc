// Shape rules of the collectives and their asynchronous halves. What depends on the number of
// devices is checked as far as the groups tell it; the rest is the verifier's.
#include "lib/ops/shape_helpers.h"

namespace hlo {
namespace {

// One operand's result as it is, several as a tuple.
Shape OneOrTuple(const std::vector<Shape>& shapes) {
  return shapes.size() == 1 ? shapes[0] : Shape::Tuple(shapes);
}

// Devices per group; 0 when the groups are empty (all devices) or of unlike sizes.
int64_t GroupSize(const ReplicaGroups& groups) {
  const ReplicaGroups::Lists lists = groups.Flatten();
  if (lists.empty()) return 0;
  for (const auto& list : lists) {
    if (list.size() != lists[0].size()) return 0;
  }
  return static_cast<int64_t>(lists[0].size());
}

// As GroupSize; with a channel but without global ids, groups count replicas and each stands for as
// many devices as there are partitions, a number that is not known here.
template <class A>
int64_t DevicesPerGroup(const A& attrs) {
  if (attrs.channel_id.has_value() && !attrs.use_global_device_ids) return 0;
  return GroupSize(attrs.replica_groups);
}

absl::Status CheckArrays(const ShapeArgs& args) {
  for (int i = 0; i < args.operand_count(); ++i) RETURN_IF_ERROR(args.CheckArray(i));
  return absl::OkStatus();
}

std::vector<Shape> Operands(const ShapeArgs& args) {
  return {args.operands().begin(), args.operands().end()};
}

// The declared result of operand `i`, as far as a result of that form is declared.
const Shape* DeclaredResult(const ShapeArgs& args, const std::optional<Shape>& declared, int i) {
  if (!declared.has_value()) return nullptr;
  if (args.operand_count() == 1) return &*declared;
  if (!declared->IsTuple() || i >= declared->element_count_of_tuple()) return nullptr;
  return &declared->elements()[static_cast<size_t>(i)];
}

// The results of all-gather (`gathers`) or reduce-scatter. The size along `dimension` is the group
// size times that of the operand, or the share of it; with unknown groups, the declared size if it
// is a multiple, or a share.
absl::StatusOr<Shape> ScaledAlong(const ShapeArgs& args, int64_t dimension, int64_t group_size,
                                  bool gathers, const std::optional<Shape>& declared) {
  RETURN_IF_ERROR(CheckArrays(args));
  std::vector<Shape> results;
  for (int i = 0; i < args.operand_count(); ++i) {
    const Shape operand = args.operand(i);
    RETURN_IF_ERROR(args.CheckDimension("dimensions", dimension, operand.rank()));
    const int d = static_cast<int>(dimension);
    const int64_t size = operand.dim(d);
    const Shape* written = DeclaredResult(args, declared, i);
    int64_t scaled = size;
    const bool bounded = size != Shape::kUnbounded;
    if (bounded && group_size > 1 && gathers && __builtin_mul_overflow(size, group_size, &scaled)) {
      return args.Error("dimension {} of `{}` has size {}, too large to gather from {} devices", d,
                        args.name(i), size, group_size);
    }
    if (bounded && group_size > 1 && !gathers) {
      if (size % group_size != 0) {
        return args.Error(
            "dimension {} of `{}` has size {}, which groups of {} devices do not divide", d,
            args.name(i), size, group_size);
      }
      scaled = size / group_size;
    }
    if (bounded && group_size <= 1 && written != nullptr && written->IsArray() &&
        written->rank() == operand.rank()) {
      const int64_t large = gathers ? written->dim(d) : size;
      const int64_t small = gathers ? size : written->dim(d);
      if (large == 0 ? small != 0 : small == 0 || large % small != 0) {
        return args.Error(
            "dimension {} of the result is {} and that of `{}` {}, which no number of devices "
            "explains",
            d, written->dim(d), args.name(i), size);
      }
      scaled = written->dim(d);
    }
    results.push_back(operand.WithDim(d, scaled));
  }
  return OneOrTuple(results);
}

// What combines the values is nothing to the shape.
absl::StatusOr<Shape> InferAllReduce(const ShapeArgs& args) {
  RETURN_IF_ERROR(CheckArrays(args));
  return AgreeWithDeclared(args, OneOrTuple(Operands(args)));
}

// Element 1 of the start's (operands, results, …).
absl::StatusOr<Shape> ResultOfStart(const ShapeArgs& args) {
  const Shape operand = args.operand(0);
  if (!operand.IsTuple() || operand.element_count_of_tuple() < 2) {
    return args.Error("`{}` has shape `{}`, expected a tuple of operands and results", args.name(0),
                      operand);
  }
  return AgreeWithDeclared(args, operand.element(1));
}

// The start indices of one buffer: a tuple with one integer scalar per dimension, or a tuple of
// such tuples.
absl::Status CheckOffsets(const ShapeArgs& args, Shape buffer, Shape offsets,
                          std::string_view what) {
  if (buffer.IsArray() && offsets.IsTuple()) {
    if (offsets.element_count_of_tuple() > 0 &&
        offsets.element(0).IsTuple()) {  // several slices of one buffer
      for (const Shape slice : offsets.elements())
        RETURN_IF_ERROR(CheckOffsets(args, buffer, slice, what));
      return absl::OkStatus();
    }
    bool fits = offsets.element_count_of_tuple() == buffer.rank();
    for (const Shape index : offsets.elements())
      fits = fits && index.IsArray() && IsInteger(index.element_type());
    if (fits) return absl::OkStatus();
  }
  if (buffer.IsTuple() && offsets.IsTuple() &&
      buffer.element_count_of_tuple() == offsets.element_count_of_tuple()) {
    for (int i = 0; i < buffer.element_count_of_tuple(); ++i) {
      RETURN_IF_ERROR(CheckOffsets(args, buffer.element(i), offsets.element(i), what));
    }
    return absl::OkStatus();
  }
  return args.Error(
      "the {} start indices have shape `{}`, expected one integer per dimension of `{}`", what,
      offsets, buffer);
}

absl::Status CheckInPlacePermute(const ShapeArgs& args) {
  if (args.operand_count() != 4) {
    return args.Error(
        "`slice_sizes` is given, so 4 operands are expected (input, output, their start indices), "
        "found {}",
        args.operand_count());
  }
  const Shape input = args.operand(0);
  const Shape output = args.operand(1);
  if (input.IsTuple() != output.IsTuple() || input.elements().size() != output.elements().size()) {
    return args.Error(
        "the input is `{}`, but the output `{}`; expected two arrays or two tuples of "
        "one length",
        input, output);
  }
  RETURN_IF_ERROR(CheckOffsets(args, input, args.operand(2), "input"));
  return CheckOffsets(args, output, args.operand(3), "output");
}

// What collective-permute gives to its target. `tuples`: several operands may be tuples.
absl::StatusOr<Shape> PermuteResult(const ShapeArgs& args, bool tuples) {
  if (!args.attrs<CollectivePermuteAttrs>().slice_sizes.empty()) {
    RETURN_IF_ERROR(CheckInPlacePermute(args));
    return args.operand(1);
  }
  if (!tuples || args.operand_count() == 1) RETURN_IF_ERROR(CheckArrays(args));
  return OneOrTuple(Operands(args));
}

// Equal shapes, layouts included; the memory space may differ.
bool SameInMemory(Shape a, Shape b) {
  if (!Matches(a, b) || a.elements().size() != b.elements().size()) return false;
  for (size_t i = 0; i < a.elements().size(); ++i) {
    if (!SameInMemory(a.elements()[i], b.elements()[i])) return false;
  }
  if (!a.has_layout() || !b.has_layout()) return true;
  Layout layout = a.layout();
  layout.memory_space = b.layout().memory_space;
  return layout == b.layout();
}

absl::Status CheckSameInMemory(const ShapeArgs& args, int i, int j) {
  if (SameInMemory(args.operand(i), args.operand(j))) return absl::OkStatus();
  return args.Error("`{}` has shape `{:l}`, but `{}` has `{:l}`; expected equal ones", args.name(j),
                    args.operand(j), args.name(i), args.operand(i));
}

}  // namespace

absl::StatusOr<Shape> AllGatherShape(const ShapeArgs& args) {
  const AllGatherAttrs& attrs = args.attrs<AllGatherAttrs>();
  ASSIGN_OR_RETURN(const Shape result,
                   ScaledAlong(args, attrs.dimensions.value, DevicesPerGroup(attrs),
                               /*gathers=*/true, args.declared()));
  return AgreeWithDeclared(args, result);
}

absl::StatusOr<Shape> AllGatherStartShape(const ShapeArgs& args) {
  const AllGatherAttrs& attrs = args.attrs<AllGatherAttrs>();
  std::optional<Shape> declared;
  if (args.declared().has_value() && args.declared()->IsTuple() &&
      args.declared()->element_count_of_tuple() == 2) {
    declared = args.declared()->element(1);
  }
  ASSIGN_OR_RETURN(const Shape result,
                   ScaledAlong(args, attrs.dimensions.value, DevicesPerGroup(attrs),
                               /*gathers=*/true, declared));
  return AgreeWithDeclared(args, Shape::Tuple({OneOrTuple(Operands(args)), result}));
}

absl::StatusOr<Shape> AllGatherDoneShape(const ShapeArgs& args) { return ResultOfStart(args); }

absl::StatusOr<Shape> AllReduceShape(const ShapeArgs& args) { return InferAllReduce(args); }
absl::StatusOr<Shape> AllReduceStartShape(const ShapeArgs& args) { return InferAllReduce(args); }
absl::StatusOr<Shape> AllReduceDoneShape(const ShapeArgs& args) {
  return AgreeWithDeclared(args, args.operand(0));
}

absl::StatusOr<Shape> ReduceScatterShape(const ShapeArgs& args) {
  const ReduceScatterAttrs& attrs = args.attrs<ReduceScatterAttrs>();
  ASSIGN_OR_RETURN(const Shape result,
                   ScaledAlong(args, attrs.dimensions.value, DevicesPerGroup(attrs),
                               /*gathers=*/false, args.declared()));
  return AgreeWithDeclared(args, result);
}

absl::StatusOr<Shape> AllToAllShape(const ShapeArgs& args) {
  const AllToAllAttrs& attrs = args.attrs<AllToAllAttrs>();
  const int64_t group_size = GroupSize(attrs.replica_groups);
  if (!attrs.dimensions.has_value()) {
    if (group_size > 0 && args.operand_count() != group_size) {
      return args.Error("found {} operands, expected {}, one per device of a group",
                        args.operand_count(), group_size);
    }
    for (int i = 1; i < args.operand_count(); ++i) RETURN_IF_ERROR(CheckSameInMemory(args, 0, i));
    return AgreeWithDeclared(args, Shape::Tuple(args.operands()));
  }
  RETURN_IF_ERROR(CheckArrays(args));
  if (args.operand_count() != 1) {
    return args.Error("found {} operands, expected 1 with `dimensions`", args.operand_count());
  }
  const Shape operand = args.operand(0);
  const int64_t dimension = attrs.dimensions->value;
  RETURN_IF_ERROR(args.CheckDimension("dimensions", dimension, operand.rank()));
  const int64_t size = operand.dim(static_cast<int>(dimension));
  for (int d = 0; d < operand.rank(); ++d) {
    if (operand.is_dynamic(d) && operand.dim(d) != Shape::kUnbounded)
      return args.Error("`{}` has shape `{}`; bounded dimensions are not exchanged", args.name(0),
                        operand);
  }
  if (group_size > 0 && size != Shape::kUnbounded && size % group_size != 0) {
    return args.Error("dimension {} of `{}` has size {}, which groups of {} devices do not divide",
                      dimension, args.name(0), size, group_size);
  }
  return AgreeWithDeclared(args, operand);
}

absl::StatusOr<Shape> RaggedAllToAllShape(const ShapeArgs& args) {
  if (args.operand_count() != 6) {
    return args.Error(
        "found {} operands, expected 6: input, output, input offsets, send sizes, output offsets, "
        "receive sizes",
        args.operand_count());
  }
  RETURN_IF_ERROR(CheckArrays(args));
  const Shape input = args.operand(0);
  const Shape output = args.operand(1);
  RETURN_IF_ERROR(args.CheckSameElementType(0, 1));
  bool same_rows = input.rank() == output.rank();
  for (int d = 1; same_rows && d < input.rank(); ++d)
    same_rows = SameSize(input.dim(d), output.dim(d));
  if (!same_rows) {
    return args.Error("`{}` has shape `{}`, but `{}` has `{}`; only dimension 0 may differ",
                      args.name(1), output, args.name(0), input);
  }
  const int rank = args.operand(2).rank();
  if (rank != 1 && rank != 2) {
    return args.Error("`{}` has shape `{}`, expected rank 1 or 2", args.name(2), args.operand(2));
  }
  for (int i = 2; i < 6; ++i) {
    RETURN_IF_ERROR(args.CheckSameElementType(2, i));
    if (!Compatible(args.operand(2), args.operand(i))) {
      return args.Error("`{}` has shape `{}`, but `{}` has `{}`", args.name(i), args.operand(i),
                        args.name(2), args.operand(2));
    }
    if (!IsInteger(args.operand(i).element_type())) {
      return args.Error("`{}` has element type `{}`, expected integer", args.name(i),
                        Text(args.operand(i).element_type()));
    }
  }
  return AgreeWithDeclared(args, output);
}

absl::StatusOr<Shape> CollectiveBroadcastShape(const ShapeArgs& args) {
  RETURN_IF_ERROR(CheckArrays(args));
  std::vector<Shape> data = Operands(args);
  if (args.attrs<CollectiveBroadcastAttrs>().has_dynamic_root) {
    if (data.size() < 2)
      return args.Error("found {} operands, expected data and the roots", data.size());
    data.pop_back();
  }
  if (data.empty()) return args.Error("expected at least one operand");
  return AgreeWithDeclared(args, OneOrTuple(data));
}

absl::StatusOr<Shape> CollectivePermuteShape(const ShapeArgs& args) {
  ASSIGN_OR_RETURN(const Shape result, PermuteResult(args, /*tuples=*/false));
  return AgreeWithDeclared(args, result);
}

absl::StatusOr<Shape> CollectivePermuteStartShape(const ShapeArgs& args) {
  ASSIGN_OR_RETURN(const Shape result, PermuteResult(args, /*tuples=*/true));
  const bool in_place = !args.attrs<CollectivePermuteAttrs>().slice_sizes.empty();
  std::vector<Shape> elements = {in_place ? args.operand(0) : OneOrTuple(Operands(args)), result};
  // Contexts of any number and shape may follow.
  if (args.declared().has_value() && args.declared()->IsTuple()) {
    for (int i = 2; i < args.declared()->element_count_of_tuple(); ++i) {
      elements.push_back(args.declared()->element(i));
    }
  }
  return AgreeWithDeclared(args, Shape::Tuple(elements));
}

absl::StatusOr<Shape> CollectivePermuteDoneShape(const ShapeArgs& args) {
  return ResultOfStart(args);
}

absl::StatusOr<Shape> PartitionIdShape(const ShapeArgs&) {
  return Shape::Scalar(ElementType::kU32);
}
absl::StatusOr<Shape> ReplicaIdShape(const ShapeArgs&) { return Shape::Scalar(ElementType::kU32); }

}  // namespace hlo
