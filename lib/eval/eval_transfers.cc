// Infeed and outfeed, and sends and receives between the devices of a module. A send leaves its
// value with the communicator and goes on; recv-done waits for it. What no pair leads to gets
// zeros.
#include "lib/eval/communicator.h"
#include "lib/eval/eval_internal.h"
#include "lib/eval/host_feed.h"
#include "lib/ir/computation.h"
#include "lib/ir/module.h"
#include "lib/ops/opcode_groups.h"

namespace hlo {
namespace {

absl::Status RefuseHost(const EvalContext& c) {
  return Unsupported(c.loc(), "`{}` needs a host to exchange data with; there is none here",
                     c.instruction.opcode_text());
}

HostFeed* FeedOf(const EvalContext& c) {
  const Communicator* const communicator = c.evaluator.options().communicator;
  return communicator == nullptr ? nullptr : communicator->feed();
}

int64_t DeviceOf(const EvalContext& c) {
  const EvalOptions& options = c.evaluator.options();
  const DeviceMesh mesh =
      options.communicator == nullptr ? DeviceMesh() : options.communicator->mesh();
  return options.replica_id * mesh.partitions + options.partition_id;
}

// What the receives of the channel say between which devices, one of which has started what a
// recv-done gets out of a tuple; null: they say nothing.
absl::StatusOr<const std::string*> PairsOfChannel(const Instruction& done) {
  const std::string* common = nullptr;
  const std::optional<int64_t> channel = done.attrs<ChannelAttrs>().channel_id;
  for (const Computation* computation : done.module().computations()) {
    for (const Instruction* other : computation->instructions()) {
      if (other->opcode() != Opcode::kRecv || other->attrs<ChannelAttrs>().channel_id != channel)
        continue;
      const std::string* const text = FindFrontendAttribute(*other, kSendRecvPairsAttribute);
      if (text == nullptr) continue;
      if (common != nullptr && *common != *text) {
        return Error(done.loc(),
                     "`{}` gets a receive of channel {} out of a tuple, but those are not all "
                     "between the same devices, and it has no `{}`",
                     done.name(), channel.value_or(0), kSendRecvPairsAttribute);
      }
      common = text;
    }
  }
  return common;
}

// One device in the terms of such pairs.
struct Place {
  DeviceMesh mesh;
  int64_t replica = 0, partition = 0;
  int64_t id() const { return mesh.partitions > 1 ? partition : replica; }
  int64_t DeviceOf(int64_t other) const {
    return mesh.partitions > 1 ? replica * mesh.partitions + other : other;
  }
  bool Has(int64_t other) const {
    return other >= 0 && other < (mesh.partitions > 1 ? mesh.partitions : mesh.replicas);
  }
};

absl::StatusOr<Place> PlaceOf(const EvalContext& c) {
  const EvalOptions& options = c.evaluator.options();
  if (options.communicator == nullptr) {
    return Unsupported(c.loc(), "`{}` needs another device; this run has one",
                       c.instruction.opcode_text());
  }
  return Place{options.communicator->mesh(), options.replica_id, options.partition_id};
}

int64_t ChannelOf(const EvalContext& c) { return c.attrs<ChannelAttrs>().channel_id.value_or(0); }

absl::Status CheckTarget(const EvalContext& c, const Place& place, int64_t id) {
  if (place.Has(id)) return absl::OkStatus();
  return Error(c.loc(), "the pairs of `{}` name {}, which is none of the {} devices",
               c.instruction.name(), id, place.mesh.devices());
}

}  // namespace

// Who takes part, as ids of partitions, or of replicas where there is one partition. A send or a
// receive says so itself; what its `-done` says counts only where the transfer is out of sight
// (started before a loop) or silent.
absl::StatusOr<SendRecvPairs> FindSendRecvPairs(const Instruction& transfer) {
  const std::string* text = nullptr;
  if (kSendRecvDones.Has(transfer.opcode()))
    text = FindFrontendAttribute(*transfer.operand(0), kSendRecvPairsAttribute);
  if (text == nullptr) text = FindFrontendAttribute(transfer, kSendRecvPairsAttribute);
  if (text == nullptr && transfer.opcode() == Opcode::kRecvDone) {
    ASSIGN_OR_RETURN(text, PairsOfChannel(transfer));
  }
  if (text == nullptr) {
    return Error(transfer.loc(), "`{}` does not say between which devices: it has no `{}`",
                 transfer.name(), kSendRecvPairsAttribute);
  }
  std::optional<SendRecvPairs> pairs = ParseSendRecvPairs(*text);
  if (pairs) return *std::move(pairs);
  return Error(transfer.loc(), "`{}` of `{}` is `{}`, expected a list like `{{{{0,1}}}}`",
               kSendRecvPairsAttribute, transfer.name(), *text);
}

EvalResult EvalInfeed(EvalContext& c) {
  HostFeed* const feed = FeedOf(c);
  if (feed == nullptr) return RefuseHost(c);
  ASSIGN_OR_RETURN(Literal value, feed->Take(DeviceOf(c), c.instruction));
  return Literal::Tuple({std::move(value), Literal::Token()});
}

EvalResult EvalOutfeed(EvalContext& c) {
  HostFeed* const feed = FeedOf(c);
  if (feed == nullptr) return RefuseHost(c);
  RETURN_IF_ERROR(feed->Give(DeviceOf(c), c.instruction, c.Take(0)));
  return Literal::Token();
}

EvalResult EvalSend(EvalContext& c) {
  if (c.attrs<ChannelAttrs>().is_host_transfer) return RefuseHost(c);
  ASSIGN_OR_RETURN(const Place place, PlaceOf(c));
  ASSIGN_OR_RETURN(const SendRecvPairs* const pairs, c.evaluator.Pairs(c.instruction));
  for (const auto& [source, target] : *pairs) {
    if (source != place.id()) continue;
    RETURN_IF_ERROR(CheckTarget(c, place, target));
    RETURN_IF_ERROR(c.evaluator.options().communicator->Send(
        {ChannelOf(c), place.DeviceOf(source), place.DeviceOf(target)}, c.operand(0)));
  }
  return Literal::Tuple({c.Take(0), Literal::Zero(ElementType::kU32), Literal::Token()});
}

EvalResult EvalSendDone(EvalContext& c) {
  if (c.attrs<ChannelAttrs>().is_host_transfer) return RefuseHost(c);
  return Literal::Token();
}

EvalResult EvalRecv(EvalContext& c) {
  if (c.attrs<ChannelAttrs>().is_host_transfer) return RefuseHost(c);
  return Literal(c.instruction.shape());
}

EvalResult EvalRecvDone(EvalContext& c) {
  if (c.attrs<ChannelAttrs>().is_host_transfer) return RefuseHost(c);
  ASSIGN_OR_RETURN(const Place place, PlaceOf(c));
  ASSIGN_OR_RETURN(const SendRecvPairs* const pairs, c.evaluator.Pairs(c.instruction));
  Literal received(c.instruction.shape().element(0));
  for (const auto& [source, target] : *pairs) {
    if (target != place.id()) continue;
    RETURN_IF_ERROR(CheckTarget(c, place, source));
    ASSIGN_OR_RETURN(received, c.evaluator.options().communicator->Receive(
                                   {ChannelOf(c), place.DeviceOf(source), place.DeviceOf(target)},
                                   c.instruction));
    if (!CompatibleIgnoringDynamic(received.shape(), c.instruction.shape().element(0))) {
      return Error(c.loc(), "`{}` is to receive `{}`, but partition {} sends `{}`",
                   c.instruction.name(), c.instruction.shape().element(0), source,
                   received.shape());
    }
  }
  return Literal::Tuple({std::move(received), Literal::Token()});
}

}  // namespace hlo
