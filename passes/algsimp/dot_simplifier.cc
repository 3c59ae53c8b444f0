#include "passes/algsimp/dot_simplifier.h"

#include <vector>

#include "passes/algsimp/rules.h"

namespace hlo {
namespace {

std::span<const Rule> BothRules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> both;
    for (const Rule& rule : algsimp::TransposeOfDotRules()) both.push_back(rule);
    for (const Rule& rule : algsimp::DotToMultiplyRules()) both.push_back(rule);
    return both;
  }();
  return rules;
}

}  // namespace

DotSimplifier::DotSimplifier() : RewritePass(this, BothRules()) {}

HLO_DEFINE_PASS(DotSimplifier)

}  // namespace hlo
