#include "passes/simplify/literal_canonicalizer.h"

#include <cstring>

#include "absl/container/flat_hash_map.h"
#include "lib/support/hash.h"

namespace hlo {
namespace {

// Arrays seen so far, by their elements.
class Pool {
 public:
  // Gives the array `literal` the elements of an equal one; the number of bytes saved, 0 if there
  // was none or if it had them already.
  int64_t Share(Literal& literal) {
    std::vector<Literal>& candidates = by_hash_[HashOf(literal)];
    for (const Literal& candidate : candidates) {
      if (candidate.data() == literal.data()) return 0;
      if (!SameElements(candidate, literal)) continue;
      literal = candidate.WithShapeLayout(literal.shape());
      return literal.byte_size();
    }
    candidates.push_back(literal);
    return 0;
  }

 private:
  static uint64_t HashOf(const Literal& literal) {
    return HashBytes(
        {reinterpret_cast<const char*>(literal.data()), static_cast<size_t>(literal.byte_size())});
  }
  static bool SameElements(const Literal& a, const Literal& b) {
    return a.element_type() == b.element_type() && a.byte_size() == b.byte_size() &&
           std::memcmp(a.data(), b.data(), static_cast<size_t>(a.byte_size())) == 0;
  }

  absl::flat_hash_map<uint64_t, std::vector<Literal>> by_hash_;
};

struct Shared {
  int64_t literals = 0;
  int64_t bytes = 0;
};

// The arrays of `literal`, of at least `min_size` bytes.
void ShareArrays(Literal& literal, int64_t min_size, Pool& pool, Shared& shared) {
  if (literal.is_elided()) return;
  for (Literal& element : literal.mutable_elements()) ShareArrays(element, min_size, pool, shared);
  if (!literal.shape().IsArray() || literal.byte_size() < min_size) return;
  const int64_t saved = pool.Share(literal);
  shared.literals += saved > 0 ? 1 : 0;
  shared.bytes += saved;
}

}  // namespace

absl::StatusOr<bool> LiteralCanonicalizer::Run(Module& module, PassContext& context) {
  Pool pool;
  bool changed = false;
  for (Computation* computation : context.Computations(module, {Opcode::kConstant})) {
    for (Instruction* instruction : computation->instructions()) {
      if (!instruction->IsConstant() || !context.MayRewrite()) continue;
      Literal literal = instruction->literal();
      Shared shared;
      ShareArrays(literal, options_.min_size_bytes, pool, shared);
      if (shared.literals == 0) continue;
      context.Passed(*instruction, "shares {} bytes", shared.bytes);
      instruction->SetAttrs(ConstantAttrs{std::move(literal)});
      context.Count("shared literals", shared.literals);
      context.Count("saved bytes", shared.bytes);
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(LiteralCanonicalizer)

}  // namespace hlo
