#include "tools/opt/instrument.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>

#include "passes/registry.h"

namespace hlo {
namespace {

absl::Status MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0777) == 0 || errno == EEXIST) return absl::OkStatus();
  return Error("cannot make folder `{}`: {}", path, std::strerror(errno));
}

// Passes of XLA may be named although they do not exist here: they will not run either way.
absl::Status CheckPassName(std::string_view name) {
  return IsXlaPass(name) ? absl::OkStatus() : GetPass(name).status();
}

absl::Status ReadPassNames(const std::string& list, std::vector<std::string>& out) {
  out = NamesOf(list);
  for (const std::string& name : out) RETURN_IF_ERROR(CheckPassName(name));
  return absl::OkStatus();
}

absl::Status ReadPassPlace(const std::string& text, PassPlace& out) {
  if (text.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(out, ParsePassPlace(text));
  return CheckPassName(out.name);
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

// --debug-counter=PASS:FIRST-LAST: of the rewrites that this pass could make, only these.
absl::Status CountRewrites(const std::string& text, PassContext& context) {
  const size_t colon = text.find(':'), dash = text.find('-', colon);
  int64_t first = 0, last = 0;
  const auto number = [&](size_t begin, size_t end, int64_t& out) {
    const auto result = std::from_chars(text.data() + begin, text.data() + end, out);
    return result.ec == std::errc() && result.ptr == text.data() + end && out >= 0;
  };
  // A pass may have dashes in its name: they stand in front of the colon.
  if (colon == std::string::npos || dash == std::string::npos || !number(colon + 1, dash, first) ||
      !number(dash + 1, text.size(), last)) {
    return Error("`--debug-counter` expects PASS:FIRST-LAST, found `{}`", text);
  }
  const std::string pass = text.substr(0, colon);
  RETURN_IF_ERROR(CheckPassName(pass));
  context.set_may_rewrite([&context, pass, first, last, at = int64_t{0}]() mutable {
    if (context.pass() != pass) return true;
    const int64_t rewrite = at++;
    return rewrite >= first && rewrite <= last;
  });
  return absl::OkStatus();
}

}  // namespace

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
  // As XLA: a folder for dumps gets the modules before and after, and with a pattern those between.
  in.dump_directory = options.dump_directory.empty() && !options.xla_dump_pass_re.empty()
                          ? options.xla_dump_to
                          : options.dump_directory;
  RETURN_IF_ERROR(ReadPassNames(options.print_before, in.print_before));
  RETURN_IF_ERROR(ReadPassNames(options.print_after, in.print_after));
  RETURN_IF_ERROR(ReadPassNames(options.disable, in.disabled));
  RETURN_IF_ERROR(ReadPassNames(options.only, in.only));
  RETURN_IF_ERROR(ReadPassPlace(options.start_at, in.start_at));
  RETURN_IF_ERROR(ReadPassPlace(options.start_after, in.start_after));
  RETURN_IF_ERROR(ReadPassPlace(options.stop_after, in.stop_after));
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

std::string NamesWithoutPass(const Instrumentation& instrumentation,
                             const std::vector<PassRun>& runs) {
  std::map<std::string_view, int64_t> ran;
  for (const PassRun& run : runs) ++ran[run.name];
  std::vector<PassPlace> places = {instrumentation.start_at, instrumentation.start_after,
                                   instrumentation.stop_after};
  for (const std::vector<std::string>* names :
       {&instrumentation.disabled, &instrumentation.only, &instrumentation.print_before,
        &instrumentation.print_after}) {
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
