// The loops that a partitioner makes of products with parts of arrays on other devices: in each
// iteration parts are multiplied while those of the next one are sent ("windowed einsum").
#pragma once

#include <string_view>
#include <vector>

#include "passes/pass.h"

namespace hlo {

// Which goes round: parts of an operand (instead of an all-gather before the product), or of the
// result (instead of a reduce-scatter after it).
enum class WindowedKind { kOperand, kResult };

struct WindowedLoop {
  Instruction* loop;
  WindowedKind kind;
};

// The loops whose bodies are called `windowed_dot_general_body_ag…` or `…_rs…`, with two products
// at least, callees first. Bodies that anything else calls are none.
std::vector<WindowedLoop> FindWindowedLoops(const Module& module, PassContext& context);

// Whether `value` is one array that other devices have sent, whole.
bool IsPlainSend(const Instruction& value);

// What becomes of a windowed loop once its iterations stand in the body of `loop`, which runs once:
// products run on queues of their own, from `first_queue` on, and what sends the first part is
// scheduled before all else.
//
// Where the products of parts of an operand are added up to element 2 of the state, starting with
// zeros, they are put beside each other and added up after the loop:
//
//   root = tuple(…, add(add(gte(p, 2), dot_0), dot_1), …)
//     =>   root = tuple(…, …, concatenate(reshape(dot_0), reshape(dot_1)))
//          reduce(get-tuple-element(loop, n), 0), dimensions={0}
//
// A library adds to a product what it is added to, and each would wait for the one before. The sum
// in the loop stays for simplify-while-loops.
absl::Status FinishWindowedLoop(const WindowedLoop& loop, int64_t first_queue,
                                PassContext& context);

}  // namespace hlo
