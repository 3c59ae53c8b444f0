#include "passes/analyses.h"

#include <fmt/core.h>

namespace hlo {

void Analyses::Forget(AnalysisSet kept) {
  const auto forget = [&]<class A>(std::unique_ptr<A>& known) {
    bool is_kept = kept.Has<A>();
    if constexpr (requires { typename A::Over; }) is_kept = is_kept && kept.Has<typename A::Over>();
    if (!is_kept) known.reset();
  };
  std::apply([&](auto&... known) { (forget(known), ...); }, known_);
}

void Analyses::AskAll(const Module& module) {
  const auto ask = [&]<class... A>(const std::tuple<A...>*) {
    (Get<A>(module).AskAll(module), ...);
  };
  ask(static_cast<AnalysisTypes*>(nullptr));
}

std::string Analyses::FirstMistake(const Module& module) const {
  std::string mistake;
  const auto look = [&]<class A>(const std::unique_ptr<A>& known) {
    if (known == nullptr || !mistake.empty()) return;
    const std::string found = known->Mistake(module);
    if (!found.empty()) mistake = fmt::format("`{}`: {}", A::kName, found);
  };
  std::apply([&](const auto&... known) { (look(known), ...); }, known_);
  return mistake;
}

std::string Analyses::Known() const {
  std::string names;
  const auto add = [&]<class A>(const std::unique_ptr<A>& known) {
    if (known != nullptr) names += fmt::format("{}{}", names.empty() ? "" : ", ", A::kName);
  };
  std::apply([&](const auto&... known) { (add(known), ...); }, known_);
  return names;
}

}  // namespace hlo
