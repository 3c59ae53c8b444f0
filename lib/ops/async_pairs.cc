#include "lib/ops/async_pairs.h"

#include <string>
#include <vector>

namespace hlo {
namespace {

std::vector<AsyncPair> PairsOfTable() {
  std::vector<AsyncPair> pairs;
  for (const OpInfo& info : AllOpInfos()) {
    const std::string text(info.text);
    const std::optional<Opcode> opcode = OpcodeFromText(text);
    const std::optional<Opcode> done = OpcodeFromText(text + "-done");
    if (done) pairs.push_back({*opcode, OpcodeFromText(text + "-start").value_or(*opcode), *done});
  }
  return pairs;
}

}  // namespace

std::span<const AsyncPair> AsyncPairs() {
  static const std::vector<AsyncPair>& pairs = *new std::vector<AsyncPair>(PairsOfTable());
  return pairs;
}

const AsyncPair* AsyncPairOf(Opcode opcode) {
  for (const AsyncPair& pair : AsyncPairs()) {
    if (pair.opcode == opcode || pair.start == opcode || pair.done == opcode) return &pair;
  }
  return nullptr;
}

bool BeginsPair(Opcode opcode) {
  const AsyncPair* const pair = AsyncPairOf(opcode);
  return opcode == Opcode::kAsyncStart || (pair != nullptr && pair->start == opcode);
}

bool EndsPair(Opcode opcode) {
  const AsyncPair* const pair = AsyncPairOf(opcode);
  return opcode == Opcode::kAsyncDone || (pair != nullptr && pair->done == opcode);
}

bool YieldsUnderWay(Opcode opcode) { return opcode == Opcode::kAsyncUpdate || BeginsPair(opcode); }

}  // namespace hlo
