#include "tools/opt/self_check.h"

#include "lib/eval/evaluator.h"
#include "lib/ir/printer.h"
#include "lib/ir/verifier.h"
#include "lib/proto/proto.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "parser/parser.h"
#include "passes/pass_manager.h"
#include "passes/registry.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

constexpr std::string_view kModule = R"(HloModule self_test

%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %add = f32[] add(%a, %b)
}

ENTRY %main (x: f32[2,3]) -> f32[2] {
  %x = f32[2,3]{1,0} parameter(0)
  %zero = f32[] constant(0)
  %unused = f32[2,3]{1,0} negate(%x)
  %squares = f32[2,3]{1,0} multiply(%x, %x)
  ROOT %sums = f32[2]{0} reduce(%squares, %zero), dimensions={1}, to_apply=%sum
}
)";

class SelfTester {
 public:
  absl::Status Run() {
    ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, Read(kModule));
    const std::string text = ToText(*module);
    RETURN_IF_ERROR(Check(ToText(**Read(text)) == text, "a printed module reads back the same"));
    for (const SerialForm form : {SerialForm::kBinary, SerialForm::kText}) {
      ASSIGN_OR_RETURN(const std::string bytes, Serialize(*module, form, kParseText));
      ASSIGN_OR_RETURN(const std::string again, TextOfSerialized(bytes));
      ASSIGN_OR_RETURN(const std::unique_ptr<Module> second, Read(again));
      RETURN_IF_ERROR(Check(ToText(*second) == text, "a serialized module reads back the same"));
    }
    Evaluator evaluator;
    Literal x(Shape::Array(ElementType::kF32, {2, 3}));
    for (int64_t i = 0; i < 6; ++i) x.SetDouble(i, static_cast<double>(i));
    ASSIGN_OR_RETURN(const Literal sums, evaluator.Run(*module, {&x, 1}));
    RETURN_IF_ERROR(Check(sums.GetDouble(0) == 5 && sums.GetDouble(1) == 50,
                          "the interpreter computes sums of squares"));
    return RunPasses();
  }
  int checks() const { return checks_; }

 private:
  static absl::StatusOr<std::unique_ptr<Module>> Read(std::string_view text) {
    ASSIGN_OR_RETURN(std::unique_ptr<Module> module, ParseModule(text));
    RETURN_IF_ERROR(Verify(*module));
    return module;
  }
  absl::Status Check(bool holds, std::string_view what) {
    ++checks_;
    return holds ? absl::OkStatus() : Internal("it does not hold that {}", what);
  }

  // Every pass on the module; what a pass leaves is verified.
  absl::Status RunPasses() {
    for (const PassInfo& info : AllPasses()) {
      // These are there to fail.
      if (info.name.starts_with("test-only")) continue;
      ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, Read(kModule));
      PassContext context;
      ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePipeline(info.name));
      const absl::Status status = RunPipeline(pipeline, *module, context).status();
      RETURN_IF_ERROR(Check(status.ok(),
                            fmt::format("pass `{}` runs: {}", info.name, ToStd(status.message()))));
    }
    return absl::OkStatus();
  }

  int checks_ = 0;
};

}  // namespace

int SelfTest() {
  SelfTester tester;
  if (const absl::Status status = tester.Run(); !status.ok())
    return ReportToolError("hlo-opt: self-test", status);
  WriteStdout(fmt::format("self-test: {} checks passed\n", tester.checks()));
  return kExitOk;
}

}  // namespace hlo
