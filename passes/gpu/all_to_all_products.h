// Products whose operand or result is exchanged between all devices, in parts.
//
//   e = all-to-all(x), replica_groups={{0,1}}, dimensions={0}
//   d = dot(e, y)                                    contracted: dimension 1 of x, 0 of y
//     =>   d = dot(all-to-all(slice(x, [:, 0:n/2])), slice(y, [0:n/2]))
//            + dot(all-to-all(slice(x, [:, n/2:n])), slice(y, [n/2:n])) + 0
//
//   e = all-to-all(dot(x, y))     =>   the same, each product exchanged before it is added
//
// One part for each device of a group. Parts are exchanged while others are multiplied: each
// product runs on a queue of its own (operation_queues.h). Reshapes, transposes and copies between
// the two stand before the exchange then, or after the sum.
//
// Sums are rounded in another order. Left alone: an exchange along the contracted dimension, groups
// of one device or of several sizes, several contracted dimensions or one that the group does not
// divide, reshapes that change the exchanged dimension, values that others read, predicates.
#pragma once

#include "passes/pass.h"

namespace hlo {

// `dot`: of what was exchanged. Whether it was written in parts.
absl::StatusOr<bool> SplitProductOfExchange(Instruction* dot, PassContext& context);
// `exchange`: of a product.
absl::StatusOr<bool> SplitExchangeOfProduct(Instruction* exchange, PassContext& context);

}  // namespace hlo
