// Rules of sends and receives of the whole module:
//
//   host transfers   that share a channel do the same: opcode, shapes, attributes and frontend
//                    attributes are equal
//
// With verify_no_collective_deadlocks, from the entry through what it calls, in the order of the
// schedule, for sends and receives between devices (those to the host and pipelined ones, with the
// frontend attribute `_xla_send_recv_pipeline`, aside):
//
//   pairs   `_xla_send_recv_source_target_pairs` of all pending sends (or receives) together name
//           each device at most once as source and once as target, and form no cycle
//   order   a send takes out the pending receive of the same pairs, a receive the send; no other
//           collective comes while one is pending. Groups of collectives (`_collectives_group`) are
//           looked at on their own, when something is pending outside
#include <algorithm>
#include <map>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/ir/any_instruction.h"
#include "lib/ir/call_order.h"
#include "lib/ir/compare.h"
#include "lib/ir/send_recv_pairs.h"
#include "lib/ir/verify_internal.h"
#include "lib/ops/opcode_groups.h"

namespace hlo::internal {
namespace {

bool IsTransfer(const Instruction& instruction) {
  return kSendRecvStarts.Has(instruction.opcode());
}

void CheckHostTransfer(const VerifyContext& context, const Instruction& transfer,
                       std::map<int64_t, const Instruction*>& by_channel) {
  const ChannelAttrs& attrs = transfer.attrs<ChannelAttrs>();
  if (!attrs.is_host_transfer || !attrs.channel_id.has_value()) return;
  const auto [it, is_first] = by_channel.emplace(*attrs.channel_id, &transfer);
  if (is_first) return;
  const Instruction& first = *it->second;
  bool same = SameNode(first, transfer);
  for (int i = 0; same && i < transfer.operand_count(); ++i)
    same = SameIgnoringLayout(first.operand(i)->shape(), transfer.operand(i)->shape());
  if (same) return;
  context.findings.Add(transfer.loc(),
                       "host transfers `{}` and `{}` share channel {}, so they must be alike but "
                       "for their operands",
                       first.name(), transfer.name(), *attrs.channel_id);
  context.findings.NoteDefinition(first);
}

// ---- deadlocks ----

// A send or receive between devices that waits for its other half.
struct Pending {
  const Instruction* transfer;
  std::string_view text;  // of its pairs
  SendRecvPairs pairs;
};

class DeadlockVerifier {
 public:
  explicit DeadlockVerifier(const VerifyContext& context)
      : module_(context.module), findings_(context.findings) {
    for (const Computation* computation : CalleesFirst(module_.PostOrder())) {
      if (Communicates(*computation)) communicating_.insert(computation);
    }
  }

  void Run() { WalkAlone(*module_.entry()); }

 private:
  // A walk that starts and ends with nothing pending. False after a message, here and below.
  bool WalkAlone(const Computation& computation) {
    std::vector<Pending> pending;
    if (!Walk(computation, pending, 0)) return false;
    if (pending.empty()) return true;
    const Instruction& first = *pending.front().transfer;
    findings_.Add(first.loc(), "`{}` may wait for ever: its {} is not in computation `{}`",
                  first.name(), Counterpart(first), computation.name());
    return false;
  }

  // `pending`: all of one kind, sends or receives, in the order of the schedule.
  bool Walk(const Computation& computation, std::vector<Pending>& pending, int depth) {
    constexpr int kMostCalls = 500;
    if (!computation.has_schedule() || depth > kMostCalls || !communicating_.contains(&computation))
      return true;
    const bool from_nothing = pending.empty();
    if (from_nothing && sound_.contains(&computation)) return true;
    for (const Instruction* instruction : computation.schedule()) {
      if (IsTransfer(*instruction)) {
        if (!IsSkipped(*instruction) && !Meet(*instruction, pending)) return false;
      } else if (HasTrait(instruction->opcode(), kCollective)) {
        if (!pending.empty()) return Complain(*instruction, pending.front());
      } else if (IsGroup(*instruction)) {
        if (!pending.empty() && !WalkAlone(*instruction->call(0))) return false;
      } else if (HasTrait(instruction->opcode(), kControlFlow) ||
                 instruction->opcode() == Opcode::kAsyncStart) {
        for (const Computation* callee : instruction->calls()) {
          if (!Walk(*callee, pending, depth + 1)) return false;
        }
      }
    }
    if (from_nothing && pending.empty()) sound_.insert(&computation);
    return true;
  }

  // Whether it or what it calls, which is known, has anything to look at.
  bool Communicates(const Computation& computation) const {
    for (const Instruction* instruction : computation.instructions()) {
      if (IsTransfer(*instruction) || HasTrait(instruction->opcode(), kCollective)) return true;
      for (const Computation* callee : instruction->calls()) {
        if (communicating_.contains(callee)) return true;
      }
    }
    return false;
  }

  // A send and a receive of equal pairs go together; what is alike may pend at the same time.
  bool Meet(const Instruction& transfer, std::vector<Pending>& pending) {
    const std::string_view text = PairsOf(transfer);
    const std::optional<SendRecvPairs> pairs = ParseSendRecvPairs(text);
    if (!pairs.has_value()) {
      findings_.Add(transfer.loc(), "`{}` of `{}` is `{}`, expected a list like `{{{{0,1}}}}`",
                    kSendRecvPairsAttribute, transfer.name(), text);
      return false;
    }
    if (pending.empty() || pending.front().transfer->opcode() == transfer.opcode()) {
      pending.push_back({&transfer, text, *pairs});
      return CheckPairs(transfer, pending);
    }
    const auto match = std::find_if(pending.begin(), pending.end(),
                                    [&](const Pending& other) { return other.text == text; });
    if (match == pending.end()) return Complain(transfer, pending.front());
    pending.erase(match);
    return true;
  }

  bool Complain(const Instruction& instruction, const Pending& pending) {
    findings_.Add(instruction.loc(),
                  "`{}` may wait for ever: `{}` is pending, whose {} comes later or never",
                  instruction.name(), pending.transfer->name(), Counterpart(*pending.transfer));
    findings_.NoteDefinition(*pending.transfer);
    return false;
  }

  static std::string_view Counterpart(const Instruction& transfer) {
    return transfer.opcode() == Opcode::kSend ? "recv" : "send";
  }

  static std::string_view PairsOf(const Instruction& transfer) {
    const std::string* text = FindFrontendAttribute(transfer, kSendRecvPairsAttribute);
    return text == nullptr ? std::string_view() : *text;
  }
  static bool IsSkipped(const Instruction& transfer) {
    return transfer.attrs<ChannelAttrs>().is_host_transfer ||
           FindFrontendAttribute(transfer, "_xla_send_recv_pipeline") != nullptr;
  }
  static bool IsGroup(const Instruction& instruction) {
    return instruction.opcode() == Opcode::kAsyncStart &&
           FindFrontendAttribute(instruction, "_collectives_group") != nullptr;
  }

  // All pending pairs together name a device once as source and once as target, and make no cycle.
  // `transfer` is the last one.
  bool CheckPairs(const Instruction& transfer, const std::vector<Pending>& pending) {
    absl::flat_hash_map<int64_t, int64_t> target_of;
    absl::flat_hash_map<int64_t, int64_t> source_of;
    for (const Pending& other : pending) {
      for (const auto& [source, target] : other.pairs) {
        const bool new_source = target_of.emplace(source, target).second;
        const bool new_target = source_of.emplace(target, source).second;
        if (new_source && new_target) continue;
        findings_.Add(transfer.loc(), "`{}` names {} {} {}", transfer.name(),
                      new_source ? "target" : "source", new_source ? target : source,
                      pending.size() == 1 ? "twice" : "of a transfer that is pending");
        return false;
      }
    }
    for (const auto& [source, target] : pending.back().pairs) {
      int64_t at = target;
      for (size_t steps = 0; steps <= target_of.size(); ++steps) {
        if (at == source) {
          findings_.Add(transfer.loc(), "the pairs of `{}` form a cycle through device {}",
                        transfer.name(), source);
          return false;
        }
        const auto it = target_of.find(at);
        if (it == target_of.end()) break;
        at = it->second;
      }
    }
    return true;
  }

  const Module& module_;
  Findings& findings_;
  absl::flat_hash_set<const Computation*> communicating_;
  // Walked before: start and end with nothing pending.
  absl::flat_hash_set<const Computation*> sound_;
};

}  // namespace

void VerifyChannels(const VerifyContext& context) {
  std::map<int64_t, const Instruction*> by_channel;
  if (context.options.verify_no_collective_deadlocks) DeadlockVerifier(context).Run();
  for (const Instruction* instruction : AllInstructions(context.module)) {
    if (IsTransfer(*instruction)) CheckHostTransfer(context, *instruction, by_channel);
    if (context.findings.full()) return;
  }
}

}  // namespace hlo::internal
