// Between which devices a send or a receive that is no host transfer works:
//
//   s = (f32[4], u32[], token[]) send(x, t), channel_id=1,
//       frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1},{1,2}}"}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/ir/instruction.h"

namespace hlo {

inline constexpr std::string_view kSendRecvPairsAttribute = "_xla_send_recv_source_target_pairs";

// Null: the instruction has no such frontend attribute.
const std::string* FindFrontendAttribute(const Instruction& instruction, std::string_view name);

using SendRecvPairs = std::vector<std::pair<int64_t, int64_t>>;
// `{{0,1},{1,2}}`; nothing when the text is something else.
std::optional<SendRecvPairs> ParseSendRecvPairs(std::string_view text);

}  // namespace hlo
