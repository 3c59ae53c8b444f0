#include "lib/analysis/call_graph.h"

#include <fmt/core.h>

#include "lib/ir/call_order.h"

namespace hlo {
namespace {

CallContext Join(CallContext a, CallContext b) {
  if (a == CallContext::kUnreached || a == b) return b;
  return b == CallContext::kUnreached ? a : CallContext::kBoth;
}

CallContext ContextBy(CallKind kind) {
  return kind == CallKind::kControlFlow ? CallContext::kControlFlow : CallContext::kEmbedded;
}

std::string_view ContextText(CallContext context) {
  switch (context) {
    case CallContext::kUnreached: return "unreached";
    case CallContext::kControlFlow: return "control flow";
    case CallContext::kEmbedded: return "embedded";
    case CallContext::kBoth: return "both";
  }
  return "";
}

}  // namespace

CallContext DirectContext(const Computation& computation) {
  CallContext context = CallContext::kUnreached;
  for (const CallSite& site : computation.callers())
    context = Join(context, ContextBy(CallKindOf(site.caller->opcode())));
  return context == CallContext::kUnreached ? CallContext::kControlFlow : context;
}

CallGraph::CallGraph(const Module& module)
    : all_(CalleesFirst(module.PostOrder())), without_fusions_(all_) {
  std::erase_if(without_fusions_, [](const Computation* c) { return c->is_fusion(); });
}

void CallGraph::FindContexts(const Module& module) {
  if (!contexts_.empty() || module.entry() == nullptr) return;
  contexts_.assign(module.serial_limit(), CallContext::kUnreached);
  contexts_[module.entry()->serial()] = CallContext::kControlFlow;
  // Callers first, so that each is final when its callees are told.
  for (size_t i = all_.size(); i-- > 0;) {
    const CallContext from = contexts_[all_[i]->serial()];
    if (from == CallContext::kUnreached || !all_[i]->MayCall()) continue;
    for (const Instruction* instruction : all_[i]->instructions()) {
      const bool is_program = CallKindOf(instruction->opcode()) == CallKind::kControlFlow;
      for (int c = 0; c < instruction->call_count(); ++c) {
        CallContext& context = contexts_[instruction->call(c)->serial()];
        // A region's callees are regions, however it calls them.
        const CallContext added = is_program ? from : CallContext::kEmbedded;
        if (is_program && from == CallContext::kControlFlow && context != CallContext::kUnreached)
          is_flat_ = false;
        context = Join(context, added);
      }
    }
  }
}

CallContext CallGraph::ContextOf(const Computation& computation) {
  FindContexts(computation.module());
  return computation.serial() < contexts_.size() ? contexts_[computation.serial()]
                                                 : CallContext::kUnreached;
}

bool CallGraph::IsFlat(const Module& module) {
  FindContexts(module);
  return is_flat_;
}

std::string CallGraph::Mistake(const Module& module) const {
  CallGraph fresh(module);
  if (fresh.all_ != all_ || fresh.without_fusions_ != without_fusions_) {
    return fmt::format("the {} computations of the module are not the {} it knows in their order",
                       fresh.all_.size(), all_.size());
  }
  if (contexts_.empty()) return "";
  for (const Computation* computation : all_) {
    const CallContext now = fresh.ContextOf(*computation);
    const CallContext known = contexts_[computation->serial()];
    if (now == known) continue;
    return fmt::format("the context of computation `{}` is {}, was {}", computation->name(),
                       ContextText(now), ContextText(known));
  }
  return "";
}

std::string CallGraph::ToString(const Module& module) {
  CallGraph graph(module);
  std::string text = fmt::format("flat: {}\n", graph.IsFlat(module) ? "yes" : "no");
  for (const Computation* computation : graph.all_) {
    text += fmt::format("{}{}: {}", computation->is_entry() ? "ENTRY " : "", computation->name(),
                        ContextText(graph.ContextOf(*computation)));
    const char* before = "; called by ";
    for (const CallSite& site : computation->callers()) {
      text += fmt::format("{}{} ({})", before, site.caller->name(), site.caller->opcode_text());
      before = ", ";
    }
    text += "\n";
  }
  return text;
}

}  // namespace hlo
