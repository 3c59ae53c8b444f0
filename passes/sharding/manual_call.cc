#include "passes/sharding/manual_call.h"

#include "absl/algorithm/container.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "passes/sharding/open_dims.h"
#include "passes/sharding/sharding_annotations.h"
#include "passes/util/frontend_attribute.h"

namespace hlo {
namespace {

constexpr std::string_view kBodyName = "xla.sdy.manual_computation_body";
constexpr std::string_view kInShardings = "xla.sdy.in_shardings";
constexpr std::string_view kOutShardings = "xla.sdy.out_shardings";
constexpr std::string_view kManualAxes = "xla.sdy.manual_axes";

// Where the value comes from: elements of tuples from the tuple.
Instruction* SourceOf(Instruction* value) {
  return value->opcode() == Opcode::kGetTupleElement ? value->operand(0) : value;
}

// What reads the value, or elements of it.
std::vector<Instruction*> ReadersOf(const Instruction& value) {
  std::vector<Instruction*> readers;
  for (Instruction* user : value.users()) {
    if (user->opcode() == Opcode::kGetTupleElement) {
      const std::vector<Instruction*> users = user->users();
      readers.insert(readers.end(), users.begin(), users.end());
    } else {
      readers.push_back(user);
    }
  }
  return readers;
}

absl::Status SetOnce(Instruction*& marker, Instruction* found, const Instruction& call) {
  if (marker != nullptr && marker != found)
    return Error(found->loc(), "`{}` and `{}` both belong to `{}`", marker->name(), found->name(),
                 call.name());
  marker = found;
  return absl::OkStatus();
}

// A marker belongs to one manual computation: `others` have none of it.
absl::Status CheckOwn(const Instruction& marker, const std::vector<Instruction*>& others,
                      const Instruction& call) {
  for (const Instruction* other : others) {
    if (other != &call && IsManualCall(*other)) {
      return Error(other->loc(), "`{}` belongs to `{}` and cannot belong to `{}`, too",
                   marker.name(), call.name(), other->name());
    }
  }
  return absl::OkStatus();
}

Shape ResultShape(const Instruction& marker, int i) {
  return marker.shape().IsTuple() ? marker.shape().element(i) : marker.shape();
}

absl::Status CheckMarker(const Instruction& marker, const ShardyShardings& shardings,
                         std::string_view key) {
  const int operands = marker.operand_count();
  const int results = marker.shape().IsTuple() ? marker.shape().element_count_of_tuple() : 1;
  if (operands != results || static_cast<int>(shardings.values.size()) != operands) {
    return Error(marker.loc(), "`{}` has {} operands, {} results and {} shardings in `{}`",
                 marker.name(), operands, results, shardings.values.size(), key);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> AxesOf(const Instruction& marker) {
  absl::StatusOr<std::vector<std::string>> axes =
      ParseShardyAxes(FrontendAttribute(marker, kManualAxes));
  if (!axes.ok()) return BlameAttribute(marker, kManualAxes, axes.status());
  return axes;
}

// Puts `result` in the place of `old`. A new one takes the name over.
void ReplaceResult(Instruction* old, Instruction* result, bool is_new) {
  Computation& computation = *old->parent();
  if (is_new) computation.module().MoveName(*old, result);
  computation.Replace(old, result);
}

// Puts `results` in the place of those of `marker`, which goes.
void ReplaceResults(Instruction* marker, const std::vector<Instruction*>& results) {
  Computation& computation = *marker->parent();
  const auto is_new = [&](const Instruction* result) {
    return !absl::c_linear_search(marker->operands(), result);
  };
  if (!marker->shape().IsTuple()) return ReplaceResult(marker, results[0], is_new(results[0]));
  for (Instruction* user : marker->users()) {
    if (user->opcode() != Opcode::kGetTupleElement) continue;
    Instruction* result = results[static_cast<size_t>(user->tuple_index())];
    ReplaceResult(user, result, is_new(result));
  }
  if (marker->is_used() || marker->has_control_edges()) {
    Instruction* tuple = computation.Add(Opcode::kTuple, marker->shape(), results);
    ReplaceResult(marker, tuple, /*is_new=*/true);
  } else {
    computation.Remove(marker);
  }
}

class MarkerReplacer {
 public:
  explicit MarkerReplacer(const ManualCall& manual) : manual_(manual) {}

  absl::StatusOr<std::vector<Instruction*>> Run() {
    if (manual_.to_local != nullptr)
      RETURN_IF_ERROR(Replace(*manual_.to_local, manual_.in, &MarkerReplacer::ToLocal));
    if (manual_.to_global != nullptr)
      RETURN_IF_ERROR(Replace(*manual_.to_global, manual_.out, &MarkerReplacer::ToGlobal));
    return std::move(placed_);
  }

 private:
  // What marker `marker` makes of operand `operand`, whose sharding is `given`, in shape `shape`.
  using Crossing = absl::StatusOr<Instruction*> (MarkerReplacer::*)(Instruction& marker,
                                                                    Instruction* operand,
                                                                    const NamedSharding& given,
                                                                    Shape shape);

  absl::Status Replace(Instruction& marker, const ShardyShardings& given, Crossing cross) {
    std::vector<Instruction*> results;
    for (int i = 0; i < marker.operand_count(); ++i) {
      Instruction* result = marker.operand(i);
      const Shape shape = ResultShape(marker, i);
      if (shape.IsArray() && result->shape().IsArray()) {  // others are tokens
        const NamedSharding& sharding = given.values[static_cast<size_t>(i)];
        ASSIGN_OR_RETURN(result, (this->*cross)(marker, result, sharding, shape));
      }
      results.push_back(result);
    }
    ReplaceResults(&marker, results);
    return absl::OkStatus();
  }

  absl::StatusOr<Instruction*> ToLocal(Instruction& marker, Instruction* whole,
                                       const NamedSharding& given, Shape shape) {
    ASSIGN_OR_RETURN(const Sharding outside, At(marker, kInShardings, [&] {
                       return ShardingIn(manual_.outer, given, whole->shape());
                     }));
    ASSIGN_OR_RETURN(const Sharding inside, At(marker, kInShardings, [&] {
                       return LocalShardingIn(manual_.region, given, shape);
                     }));
    RETURN_IF_ERROR(CheckShapes(marker, kInShardings, given, whole->shape(), shape));
    Instruction* divided = Placed(AddMarker(kShardingCall, whole->shape(), whole, outside, marker));
    Instruction* local = Placed(AddMarker(kToManual, shape, divided, inside, marker));
    LeaveOpen(given, *divided, *local);
    return local;
  }

  absl::StatusOr<Instruction*> ToGlobal(Instruction& marker, Instruction* part,
                                        const NamedSharding& given, Shape shape) {
    ASSIGN_OR_RETURN(const Sharding inside, At(marker, kOutShardings, [&] {
                       return LocalShardingIn(manual_.region, given, part->shape());
                     }));
    ASSIGN_OR_RETURN(const Sharding outside, At(marker, kOutShardings, [&] {
                       return ShardingIn(manual_.outer, given, shape);
                     }));
    RETURN_IF_ERROR(CheckShapes(marker, kOutShardings, given, shape, part->shape()));
    if (!manual_.region.is_divided())
      return Placed(AddMarker(kToAutomatic, shape, part, outside, marker));
    part = Placed(AddMarker(kShardingCall, part->shape(), part, inside, marker));
    Instruction* global = Placed(AddMarker(kToAutomatic, shape, part, outside, marker));
    LeaveOpen(given, *part, *global);
    return global;
  }

  // sharding-propagation divides both sides of a border further.
  void LeaveOpen(const NamedSharding& given, Instruction& annotation, Instruction& conversion) {
    if (!manual_.region.is_divided()) return;
    for (Instruction* side : {&annotation, &conversion})
      side->mutable_extras().backend_config = UnspecifiedDimsText(OpenDimsOf(given));
  }

  template <class F>
  absl::StatusOr<Sharding> At(const Instruction& marker, std::string_view key, F&& make) {
    absl::StatusOr<Sharding> sharding = make();
    if (!sharding.ok()) return BlameAttribute(marker, key, sharding.status());
    return sharding;
  }
  absl::Status CheckShapes(const Instruction& marker, std::string_view key,
                           const NamedSharding& given, Shape whole, Shape part) {
    return BlameAttribute(marker, key,
                          CheckLocalShape(manual_.region, manual_.outer, given, whole, part));
  }
  Instruction* Placed(Instruction* instruction) {
    placed_.push_back(instruction);
    return instruction;
  }

  const ManualCall& manual_;
  std::vector<Instruction*> placed_;
};

}  // namespace

bool IsManualCall(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kCall &&
         instruction.to_apply()->name().find(kBodyName) != std::string_view::npos;
}

absl::StatusOr<ManualCall> ReadManualCall(Instruction& call, const ManualRegion& outer,
                                          const ShardyMeshes& meshes) {
  ManualCall manual;
  manual.call = &call;
  manual.region = manual.outer = outer;
  for (Instruction* operand : call.operands()) {
    Instruction* source = SourceOf(operand);
    if (IsCustomCall(*source, kToLocal)) RETURN_IF_ERROR(SetOnce(manual.to_local, source, call));
  }
  for (Instruction* reader : ReadersOf(call)) {
    if (IsCustomCall(*reader, kToGlobal)) RETURN_IF_ERROR(SetOnce(manual.to_global, reader, call));
  }
  std::vector<std::string> axes;
  if (manual.to_global != nullptr) {
    ASSIGN_OR_RETURN(manual.out, ShardingsOf(*manual.to_global, kOutShardings, meshes));
    RETURN_IF_ERROR(CheckMarker(*manual.to_global, manual.out, kOutShardings));
    std::vector<Instruction*> sources;
    for (Instruction* operand : manual.to_global->operands()) sources.push_back(SourceOf(operand));
    RETURN_IF_ERROR(CheckOwn(*manual.to_global, sources, call));
    ASSIGN_OR_RETURN(axes, AxesOf(*manual.to_global));
  }
  if (manual.to_local != nullptr) {
    ASSIGN_OR_RETURN(manual.in, ShardingsOf(*manual.to_local, kInShardings, meshes));
    RETURN_IF_ERROR(CheckMarker(*manual.to_local, manual.in, kInShardings));
    RETURN_IF_ERROR(CheckOwn(*manual.to_local, ReadersOf(*manual.to_local), call));
    ASSIGN_OR_RETURN(axes, AxesOf(*manual.to_local));
  }
  Mesh mesh = outer.mesh;
  for (const ShardyShardings* shardings : {&manual.out, &manual.in}) {
    for (const NamedSharding& sharding : shardings->values) {
      if (!sharding.mesh.axes.empty()) mesh = sharding.mesh;
    }
  }
  absl::StatusOr<ManualRegion> region = RegionWithin(outer, mesh, axes);
  if (!region.ok()) return BlameAttribute(call, kManualAxes, region.status());
  manual.region = *std::move(region);
  return manual;
}

absl::StatusOr<std::vector<Instruction*>> ReplaceMarkers(const ManualCall& manual) {
  return MarkerReplacer(manual).Run();
}

absl::Status BlameAttribute(const Instruction& instruction, std::string_view key,
                            const absl::Status& status) {
  if (status.ok()) return status;
  return Error(instruction.loc(), "`{}` of `{}`: {}", key, instruction.name(),
               ToStd(status.message()));
}

absl::StatusOr<ShardyShardings> ShardingsOf(const Instruction& instruction, std::string_view key,
                                            const ShardyMeshes& meshes) {
  absl::StatusOr<ShardyShardings> shardings = ParseShardyShardings(
      FrontendAttribute(instruction, key), meshes, instruction.module().config().num_partitions);
  if (!shardings.ok()) return BlameAttribute(instruction, key, shardings.status());
  return shardings;
}

bool DropAttributes(FrontendAttributes& attributes, std::span<const std::string_view> names) {
  FrontendAttributes kept;
  for (const auto& [key, value] : attributes) {
    if (!absl::c_linear_search(names, key)) kept.insert_or_assign(key, value);
  }
  if (kept.size() == attributes.size()) return false;
  attributes = std::move(kept);
  return true;
}

bool DropAttributes(Instruction& instruction, std::span<const std::string_view> names) {
  return instruction.extras() != nullptr && !instruction.extras()->frontend_attributes.empty() &&
         DropAttributes(instruction.mutable_extras().frontend_attributes, names);
}

Instruction* AddMarker(std::string_view target, Shape shape, Instruction* operand,
                       std::optional<Sharding> sharding, const Instruction& like) {
  Computation& computation = *operand->parent();
  CustomCallAttrs attrs;
  attrs.custom_call_target = std::string(target);
  Instruction* operands[] = {operand};
  Instruction* marker = computation.Add(Opcode::kCustomCall, shape, operands,
                                        AttrsPtr::Make(std::move(attrs)), {}, like.name());
  marker->set_loc(like.loc());
  if (like.metadata() != OpMetadata()) marker->set_metadata(like.metadata());
  if (sharding.has_value()) marker->set_sharding(*std::move(sharding));
  return marker;
}

}  // namespace hlo
