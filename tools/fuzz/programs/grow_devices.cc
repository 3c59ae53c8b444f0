// What programs for several devices say, here for one; tokens; copies that take their time.
#include "lib/ops/attrs.h"
#include "tools/fuzz/programs/regions.h"
#include "tools/fuzz/programs/rows.h"

namespace hlo {
namespace {

// No list: all devices are one group.
ReplicaGroups Everyone(Sketch& s) {
  ReplicaGroups groups;
  if (s.random().OneIn(2)) groups.form = ReplicaGroups::Lists{{0}};
  return groups;
}

DevicePairs ToItself(Sketch& s) {
  return s.random().OneIn(4) ? DevicePairs{} : DevicePairs{{0, 0}};  // who gets nothing has zeros
}

// `opcode` of one array, or its start and the done after it.
void StartAndDone(Sketch& s, Opcode opcode, Opcode start, Opcode done, Shape between,
                  Instruction* x, const AttrsPtr& attrs,
                  absl::Span<Computation* const> calls = {}) {
  const Shape result = x->shape().WithDefaultLayout();
  if (s.random().OneIn(2)) {
    s.Make([&](Builder& b) { return b.OpWithShape(opcode, result, {x}, attrs, calls); });
    return;
  }
  s.Make([&](Builder& b) {
    return b.OpWithShape(done, result, {b.OpWithShape(start, between, {x}, attrs, calls)});
  });
}

void GrowAllReduce(Sketch& s) {
  Instruction* x = s.Any();
  const ElementType type = x->shape().element_type();
  AllReduceAttrs attrs;
  attrs.replica_groups = Everyone(s);
  StartAndDone(s, Opcode::kAllReduce, Opcode::kAllReduceStart, Opcode::kAllReduceDone,
               x->shape().WithDefaultLayout(), x, AttrsPtr::Make(attrs),
               {ScalarComputation(s.module(), RandomReducer(s.random(), type), type)});
}

void GrowAllGather(Sketch& s) {
  Instruction* x = s.Any();
  if (x->shape().rank() == 0) return;
  AllGatherAttrs attrs;
  attrs.replica_groups = Everyone(s);
  attrs.dimensions = {s.SomeDimension(x)};
  const Shape shape = x->shape().WithDefaultLayout();
  StartAndDone(s, Opcode::kAllGather, Opcode::kAllGatherStart, Opcode::kAllGatherDone,
               Shape::Tuple({shape, shape}), x, AttrsPtr::Make(attrs));
}

void GrowCollectivePermute(Sketch& s) {
  Instruction* x = s.Any();
  CollectivePermuteAttrs attrs;
  attrs.source_target_pairs = ToItself(s);
  const Shape shape = x->shape().WithDefaultLayout();
  StartAndDone(s, Opcode::kCollectivePermute, Opcode::kCollectivePermuteStart,
               Opcode::kCollectivePermuteDone, Shape::Tuple({shape, shape}), x,
               AttrsPtr::Make(attrs));
}

void GrowOtherCollective(Sketch& s) {
  Instruction* x = s.Any();
  const Shape shape = x->shape().WithDefaultLayout();
  const ElementType type = shape.element_type();
  if (s.random().OneIn(3)) {
    CollectiveBroadcastAttrs attrs;
    attrs.replica_groups.form = ReplicaGroups::Lists{{0}};
    s.Make([&](Builder& b) {
      return b.OpWithShape(Opcode::kCollectiveBroadcast, shape, {x}, AttrsPtr::Make(attrs));
    });
    return;
  }
  if (shape.rank() == 0) return;
  if (s.random().OneIn(2)) {
    AllToAllAttrs attrs;
    attrs.replica_groups = Everyone(s);
    attrs.dimensions = BracedDim{s.SomeDimension(x)};
    s.Make([&](Builder& b) {
      return b.OpWithShape(Opcode::kAllToAll, shape, {x}, AttrsPtr::Make(attrs));
    });
    return;
  }
  ReduceScatterAttrs attrs;
  attrs.replica_groups = Everyone(s);
  attrs.dimensions = {s.SomeDimension(x)};
  Computation* region = ScalarComputation(s.module(), RandomReducer(s.random(), type), type);
  s.Make([&](Builder& b) {
    return b.OpWithShape(Opcode::kReduceScatter, shape, {x}, AttrsPtr::Make(attrs), {region});
  });
}

// Some rows of an array, sent to places of another.
void GrowRaggedAllToAll(Sketch& s) {
  Instruction* x =
      s.AnyWhere([](const Instruction& v) { return v.shape().rank() > 0 && v.shape().dim(0) > 0; });
  if (x == nullptr) return;
  const Shape shape = x->shape().WithDefaultLayout();
  const int64_t rows = shape.dim(0);
  const auto size = static_cast<int64_t>(s.random().Below(static_cast<size_t>(rows + 1)));
  const auto number = [&](int64_t most) {
    Literal literal(Shape::Array(ElementType::kS32, {1}));
    literal.SetInt(0, most);
    return s.computation()->AddConstant(literal);
  };
  const auto place = [&] {
    return number(static_cast<int64_t>(s.random().Below(static_cast<size_t>(rows - size + 1))));
  };
  RaggedAllToAllAttrs attrs;
  attrs.replica_groups.form = ReplicaGroups::Lists{{0}};
  Instruction* const operands[] = {x, s.Like(x), place(), number(size), place(), number(size)};
  s.Make([&](Builder& b) {
    return b.OpWithShape(Opcode::kRaggedAllToAll, shape, operands, AttrsPtr::Make(attrs));
  });
}

void GrowDeviceNumber(Sketch& s) {
  s.Op(s.random().OneIn(2) ? Opcode::kReplicaId : Opcode::kPartitionId, {});
}

void GrowCopyPair(Sketch& s) {
  Instruction* x = s.Any();
  const Shape shape = x->shape().WithDefaultLayout();
  s.Make([&](Builder& b) {
    const Shape pair = Shape::Tuple({shape, shape, Shape::Scalar(ElementType::kU32)});
    Instruction* start =
        b.OpWithShape(Opcode::kCopyStart, pair, {x}, AttrsPtr::Make(CopyStartAttrs{}));
    return b.OpWithShape(Opcode::kCopyDone, shape, {start});
  });
}

// A value that waits for others.
void GrowTokens(Sketch& s) {
  Instruction* x = s.Any();
  Instruction* other = s.Any();
  s.Make([&](Builder& b) {
    std::vector<Instruction*> before;
    if (s.random().OneIn(2)) before.push_back(b.Op(Opcode::kAfterAll, {}));
    if (s.random().OneIn(2)) before.push_back(other);  // any operand will do
    return b.Op(Opcode::kAddDependency, {x, b.Op(Opcode::kAfterAll, before)});
  });
}

void GrowDomain(Sketch& s) {
  Instruction* x = s.Any();
  s.Op(Opcode::kDomain, {x},
       AttrsPtr::Make(
           DomainAttrs{{.entry = Sharding::Replicated(), .exit = Sharding::Replicated()}}));
}

constexpr GrowRow kDeviceRows[] = {
    {"all-reduce", 1, GrowAllReduce},
    {"all-gather", 1, GrowAllGather},
    {"collective-permute", 1, GrowCollectivePermute},
    {"other-collective", 1, GrowOtherCollective},
    {"ragged-all-to-all", 1, GrowRaggedAllToAll},
    {"device-number", 1, GrowDeviceNumber},
    {"copy-start", 1, GrowCopyPair},
    {"tokens", 1, GrowTokens},
    {"domain", 1, GrowDomain},
};

}  // namespace

std::span<const GrowRow> DeviceRows() { return kDeviceRows; }

}  // namespace hlo
