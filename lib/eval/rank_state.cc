#include "lib/eval/rank_state.h"

#include <algorithm>

namespace hlo {

void RankState::WriteTo(WireWriter& writer) const {
  writer.Number(run);
  writer.Number(has_ended ? 1 : 0);
  writer.Number(is_blocked ? 1 : 0);
  writer.Numbers(sent);
  writer.Numbers(received);
  writer.Number(std::ssize(waiting));
  for (const WaitingDevice& wait : waiting) {
    writer.Number(wait.device);
    writer.Number(wait.loc.offset);
    writer.Number(wait.loc.length);
    writer.Text(wait.place);
    writer.Numbers(wait.missing);
  }
}

RankState RankState::ReadFrom(WireReader& reader) {
  RankState state;
  state.run = reader.Number();
  state.has_ended = reader.Number() != 0;
  state.is_blocked = reader.Number() != 0;
  state.sent = reader.Numbers();
  state.received = reader.Numbers();
  for (int64_t left = reader.Number(); left > 0; --left) {
    WaitingDevice wait;
    wait.device = reader.Number();
    wait.loc.offset = static_cast<uint32_t>(reader.Number());
    wait.loc.length = static_cast<uint32_t>(reader.Number());
    wait.place = reader.Text();
    wait.missing = reader.Numbers();
    state.waiting.push_back(std::move(wait));
  }
  return state;
}

bool NobodyGoesOn(const std::vector<RankState>& ranks, int64_t run) {
  bool waits = false;
  for (const RankState& rank : ranks) {
    if (rank.has_ended) continue;
    if (rank.run != run || !rank.is_blocked) return false;
    waits = waits || !rank.waiting.empty();
  }
  for (size_t to = 0; to < ranks.size(); ++to) {
    if (ranks[to].has_ended) continue;  // nobody is there to be woken
    for (size_t from = 0; from < ranks.size(); ++from) {
      const int64_t sent = ranks[from].run == run ? ranks[from].sent[to] : 0;
      if (sent != ranks[to].received[from]) return false;
    }
  }
  return waits;
}

}  // namespace hlo
