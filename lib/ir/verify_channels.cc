// Rules of sends and receives of the whole module:
//
//   host transfers   that share a channel do the same: opcode, shapes, attributes and frontend attributes are equal
//
// With verify_no_collective_deadlocks, in each scheduled computation, for sends and receives between devices (those with the
// frontend attribute `_xla_send_recv_source_target_pairs`):
//
//   pairs   name each device at most once as source and once as target, and form no cycle
//   order   a send is followed by the receive of the same pairs, or a receive by its send, before any other communication
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "lib/ir/compare.h"
#include "lib/ir/verify_internal.h"

namespace hlo::internal {
namespace {

constexpr std::string_view kPairsAttribute = "_xla_send_recv_source_target_pairs";

bool IsTransfer(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kSend || instruction.opcode() == Opcode::kRecv;
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

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

// `{{0,1},{1,2}}`; nothing when the text is something else.
std::optional<Pairs> ParsePairs(std::string_view text) {
  std::vector<int64_t> numbers;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '{' || c == '}' || c == ',' || c == ' ') {
      ++at;
      continue;
    }
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    numbers.push_back(number);
    at = static_cast<size_t>(end - text.data());
  }
  if (numbers.size() % 2 != 0) return std::nullopt;
  Pairs pairs;
  for (size_t i = 0; i < numbers.size(); i += 2) pairs.push_back({numbers[i], numbers[i + 1]});
  return pairs;
}

class DeadlockVerifier {
 public:
  explicit DeadlockVerifier(const VerifyContext& context) : findings_(context.findings) {}

  void Verify(const Computation& computation) {
    const Instruction* pending = nullptr;
    for (const Instruction* instruction : computation.schedule()) {
      const std::string* text = PairsOf(*instruction);
      const bool transfers = text != nullptr;
      if (!transfers && !HasTrait(instruction->opcode(), kCollective)) continue;
      if (transfers && !CheckPairs(*instruction, *text)) return;
      if (pending == nullptr) {
        if (transfers) pending = instruction;
        continue;
      }
      const bool matches = transfers && instruction->opcode() != pending->opcode() &&
                           ParsePairs(*text) == ParsePairs(*PairsOf(*pending));
      if (!matches) {
        findings_.Add(instruction->loc(),
                      "`{}` may wait for ever: `{}` is pending, whose {} comes later or never",
                      instruction->name(), pending->name(), Counterpart(*pending));
        return findings_.NoteDefinition(*pending);
      }
      pending = nullptr;
    }
    if (pending == nullptr) return;
    findings_.Add(pending->loc(), "`{}` may wait for ever: its {} is not in computation `{}`",
                  pending->name(), Counterpart(*pending), computation.name());
  }

 private:
  static std::string_view Counterpart(const Instruction& transfer) {
    return transfer.opcode() == Opcode::kSend ? "recv" : "send";
  }

  // The text of the attribute of a transfer between devices.
  static const std::string* PairsOf(const Instruction& instruction) {
    if (!IsTransfer(instruction) || instruction.extras() == nullptr ||
        instruction.attrs<ChannelAttrs>().is_host_transfer)
      return nullptr;
    const FrontendAttributes& attributes = instruction.extras()->frontend_attributes;
    const auto it = attributes.find(kPairsAttribute);
    return it == attributes.end() ? nullptr : &it->second;
  }

  bool CheckPairs(const Instruction& transfer, const std::string& text) {
    const std::optional<Pairs> pairs = ParsePairs(text);
    if (!pairs.has_value()) {
      findings_.Add(transfer.loc(), "`{}` of `{}` is `{}`, expected a list like `{{{{0,1}}}}`",
                    kPairsAttribute, transfer.name(), text);
      return false;
    }
    absl::flat_hash_map<int64_t, int64_t> target_of;
    absl::flat_hash_map<int64_t, int64_t> source_of;
    for (const auto& [source, target] : *pairs) {
      const bool new_source = target_of.emplace(source, target).second;
      const bool new_target = source_of.emplace(target, source).second;
      if (new_source && new_target) continue;
      findings_.Add(transfer.loc(), "`{}` names {} {} twice", transfer.name(),
                    new_source ? "target" : "source", new_source ? target : source);
      return false;
    }
    for (const auto& [source, target] : *pairs) {
      int64_t at = target;
      for (size_t steps = 0; steps < pairs->size(); ++steps) {
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

  Findings& findings_;
};

}  // namespace

void VerifyChannels(const VerifyContext& context) {
  std::map<int64_t, const Instruction*> by_channel;
  for (const Computation* computation : context.module.computations()) {
    if (context.options.verify_no_collective_deadlocks && computation->has_schedule())
      DeadlockVerifier(context).Verify(*computation);
    for (const Instruction* instruction : computation->instructions()) {
      if (IsTransfer(*instruction)) CheckHostTransfer(context, *instruction, by_channel);
      if (context.findings.full()) return;
    }
  }
}

}  // namespace hlo::internal
