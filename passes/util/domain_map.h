// Domains: sets of instructions with something in common, here a sharding. They are bounded by
// `domain` instructions, which say what holds on either side:
//
//   d = f32[4] domain(x), domain={kind="sharding", entry={maximal device=1}, exit={maximal device=0}}
//
// `exit` is what holds where x is, `entry` where d is read. Instructions that read each other
// without a domain in between are of one domain.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/ir/module.h"

namespace hlo {

// The option `kind` of passes about domains.
struct DomainOptions {
  std::string kind = "sharding";

  static auto Fields() { return std::tuple{Optional("kind", &DomainOptions::kind)}; }
};
// An error for a kind of domains that there is not.
absl::Status CheckDomainKind(const DomainOptions& options);

// No sharding, as a side of a domain: `{}`.
inline bool IsAbsent(const Sharding& sharding) { return sharding.leaves.empty(); }
Sharding AbsentSharding();
// The sharding that all leaves have, or null; also of an array.
const Sharding::Leaf* SingleLeaf(const Sharding& sharding);
// Equal, or each of leaves that are all the same one.
bool SameDomainSharding(const Sharding& a, const Sharding& b);

struct Domain {
  std::vector<Instruction*> instructions;  // in post-order
  std::vector<Instruction*> entered_by;    // `domain` instructions that members read
  std::vector<Instruction*> left_by;       // those that read members
  // Of no members: between two `domain` instructions, or after one that is the root.
  bool is_empty() const { return instructions.empty(); }
};

// In post-order of their first instruction.
std::vector<Domain> FindDomains(const Computation& computation);

// What the `domain` instructions around it say, all being the same; absent when there are none. An
// error names the first one that contradicts.
absl::StatusOr<Sharding> ShardingOfDomain(const Domain& domain);

}  // namespace hlo
