#include "tools/opt/instrument.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "lib/support/file.h"
#include "lib/support/read_number.h"
#include "lib/support/strings.h"
#include "passes/registry.h"
#include "passes/rule_names.h"
#include "tools/support/pass_names.h"

namespace hlo {
namespace {

absl::Status ReadPassPlace(const std::string& text, PassPlace& out) {
  if (text.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(out, ParsePassPlace(text));
  return absl::OkStatus();
}

PrintChanged PrintChangedOf(const std::string& how) {
  if (how.empty() || how == "false") return PrintChanged::kNo;
  if (how == "module") return PrintChanged::kModule;
  return how == "quiet" ? PrintChanged::kNames : PrintChanged::kDiff;
}

bool WantsColor(const OptOptions& options) {
  return options.print_changed == "cdiff" || options.color == "always" ||
         (options.color == "auto" && isatty(STDERR_FILENO) != 0 &&
          std::getenv("NO_COLOR") == nullptr);
}

absl::Status CountRewrites(const std::string& text, PassContext& context) {
  ASSIGN_OR_RETURN(const RewriteRange range, ParseRewriteRange(text));
  context.set_may_rewrite([&context, range, at = int64_t{0}]() mutable {
    if (context.pass() != range.pass) return true;
    const int64_t rewrite = at++;
    return rewrite >= range.first && rewrite <= range.last;
  });
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RewriteRange> ParseRewriteRange(const std::string& text) {
  const size_t colon = text.find(':'), dash = text.find('-', colon);
  RewriteRange range;
  const auto number = [&](size_t begin, size_t end, int64_t& out) {
    out = ReadNumber<int64_t>(std::string_view(text).substr(begin, end - begin)).value_or(-1);
    return out >= 0;
  };
  // A pass may have dashes in its name: they stand in front of the colon.
  if (colon == std::string::npos || dash == std::string::npos ||
      !number(colon + 1, dash, range.first) || !number(dash + 1, text.size(), range.last) ||
      range.last < range.first) {
    return Error("expected PASS:FIRST-LAST, found `{}`", text);
  }
  range.pass = text.substr(0, colon);
  return range;
}

PrintFilter PrintFilterOf(const OptOptions& options) {
  PrintFilter filter;
  for (const auto& [regex, out] : {std::pair(&options.filter_modules, &filter.modules),
                                   std::pair(&options.filter_computations, &filter.computations),
                                   std::pair(&options.filter_ops, &filter.ops)}) {
    if (!regex->empty()) out->emplace(*regex);
  }
  return filter;
}

absl::Status FillInstrumentation(const OptOptions& options, const PrintOptions& print,
                                 Instrumentation& in) {
  in.verify_each = options.verify_each;
  in.verifier.max_errors = MaxErrors(options);
  in.check_changed_flag = options.check_changed_flag;
  in.check_analyses = options.check_analyses;
  in.print = print;
  in.print_before_all = options.print_before_all;
  in.print_after_all = options.print_after_all;
  in.print_pass_names = options.print_pass_names;
  in.print_changed = PrintChangedOf(options.print_changed);
  in.color = in.print_changed != PrintChanged::kNo && WantsColor(options);
  in.print_after_failure = options.print_after_failure;
  in.bisect_limit = options.disable_all ? 0 : options.bisect_limit;
  in.print_bisect = options.bisect_limit >= 0;
  in.debug = NamesOf(options.debug_only);
  if (std::atoi(options.verbosity.c_str()) > 1) {  // -vv
    in.debug.clear();
    for (const DebugSubject& subject : kDebugSubjects) in.debug.emplace_back(subject.name);
  }
  in.measure_processor = !options.time_passes.empty() && options.time_passes != "false";
  // As XLA: a folder for dumps gets the modules before and after, and with a pattern those between.
  in.dump_directory = options.dump_directory.empty() && !options.xla_dump_pass_re.empty()
                          ? options.xla_dump_to
                          : options.dump_directory;
  in.print_before = NamesOf(options.print_before);
  in.print_after = NamesOf(options.print_after);
  in.filter_passes = NamesOf(options.filter_passes);
  if (PrintFilter filter = PrintFilterOf(options); !filter.takes_all())
    in.printed_text = [filter, print](const Module& module) {
      return filter.TextOf(module, print);
    };
  in.disabled = NamesOf(options.disable);
  for (std::string& name : KnownPassNames(options.xla_disable, "hlo-opt", "xla_disable_hlo_passes"))
    in.disabled.push_back(std::move(name));
  in.only = NamesOf(options.only);
  RETURN_IF_ERROR(ReadPassPlace(options.start_at, in.start_at));
  RETURN_IF_ERROR(ReadPassPlace(options.start_after, in.start_after));
  RETURN_IF_ERROR(ReadPassPlace(options.stop_after, in.stop_after));
  in.dump_pass_regex = options.dump_directory.empty() ? options.xla_dump_pass_re : "";
  for (const std::string* folder : std::initializer_list<const std::string*>{
           &in.dump_directory, &options.xla_dump_to, &options.output_dir}) {
    if (!folder->empty()) RETURN_IF_ERROR(MakeFolder(*folder));
  }
  return absl::OkStatus();
}

absl::Status FillContext(const OptOptions& options, PassContext& context) {
  context.set_threads(static_cast<int>(options.threads));
  context.set_wants_remarks(!options.remarks.empty() || !options.json.empty());
  for (std::string& rule : NamesOf(options.disable_rules)) context.DisableRule(std::move(rule));
  if (!options.debug_counter.empty())
    RETURN_IF_ERROR(CountRewrites(options.debug_counter, context));
  if (options.rewrite_limit >= 0) {
    context.set_may_rewrite(
        [left = options.rewrite_limit]() mutable { return left > 0 && left-- > 0; });
  }
  if (options.trace_rules) {
    context.set_rule_trace(
        [&context](std::string_view rule, const Instruction& old, const Instruction& to) {
          WriteStderr(fmt::format("{}: {}: {}  =>  {}\n", context.pass(), rule,
                                  ToText(old, PrintOptions::ShortParsable()),
                                  ToText(to, PrintOptions::ShortParsable())));
        });
  }
  return absl::OkStatus();
}

std::string NamesWithoutRule(const OptOptions& options) {
  const std::vector<std::string_view> known = NotedRuleNames();
  std::string lines;
  for (const std::string& name : NamesOf(options.disable_rules)) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    lines += fmt::format("hlo-opt: warning: no rule `{}` in the passes that ran{}\n", name,
                         DidYouMean(name, known));
  }
  return lines;
}

std::string NamesWithoutPass(const Instrumentation& instrumentation,
                             const std::vector<PassRun>& runs) {
  std::map<std::string_view, int64_t> ran;
  for (const PassRun& run : runs) ++ran[run.name];
  std::vector<PassPlace> places = {instrumentation.start_at, instrumentation.start_after,
                                   instrumentation.stop_after};
  for (const std::vector<std::string>* names :
       {&instrumentation.disabled, &instrumentation.only, &instrumentation.print_before,
        &instrumentation.print_after, &instrumentation.filter_passes}) {
    for (const std::string& name : *names) places.push_back({name});
  }
  std::string lines;
  for (const PassPlace& place : places) {
    if (place.name.empty() || ran[place.name] >= place.number) continue;
    lines += fmt::format(
        "hlo-opt: warning: no pass `{}` in the pipeline\n",
        place.number == 1 ? place.name : fmt::format("{}#{}", place.name, place.number));
  }
  return lines;
}

}  // namespace hlo
