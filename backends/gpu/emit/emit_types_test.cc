// Every kernel family in every element type that it takes, at sizes that are multiples of nothing,
// on the simulated GPU under three schedules. The elementwise opcodes have a test of their own
// (emit_elementwise_test.cc).
#include <catch2/catch.hpp>
#include <functional>

#include "backends/gpu/run_case.h"
#include "lib/support/status.h"
#include "lib/types/element_type.h"

namespace hlo::gpu {
namespace {

// Writes a module of instructions that are all results, in one element type.
class TypeModule {
 public:
  explicit TypeModule(ElementType type) : type_(type) {}

  // A region of two parameters of the type.
  void Region(std::string_view name, std::string_view operation) {
    regions_ += fmt::format(
        "{0} {{ a = {1}[] parameter(0)\nb = {1}[] parameter(1)\n"
        "ROOT c = {1}[] {2} }}\n",
        name, Text(type_), operation);
  }
  void Computation(std::string_view text) { regions_ += text; }
  // A parameter of the type, or of `type`.
  void Parameter(std::string_view name, std::string_view dims, std::string_view type = "") {
    body_ += fmt::format("{} = {}[{}] parameter({})\n", name, type.empty() ? Text(type_) : type,
                         dims, parameters_++);
  }
  // An instruction whose result is of `shape`, in which T stands for the type.
  void Add(std::string shape, std::string_view text) {
    for (size_t at; (at = shape.find('T')) != std::string::npos;) shape.replace(at, 1, Text(type_));
    body_ += fmt::format("r{} = {} {}\n", results_, shape, text);
    shapes_ += fmt::format("{}{}", results_ == 0 ? "" : ", ", shape);
    names_ += fmt::format("{}r{}", results_ == 0 ? "" : ", ", results_);
    ++results_;
  }
  void Line(std::string_view text) { body_ += fmt::format("{}\n", text); }
  std::string Hlo() const {
    return fmt::format("HloModule m\n{}ENTRY main {{\n{}ROOT all = ({}) tuple({})\n}}", regions_,
                       body_, shapes_, names_);
  }

 private:
  ElementType type_;
  std::string regions_, body_, shapes_, names_;
  int parameters_ = 0, results_ = 0;
};

using Write = std::function<void(ElementType, TypeModule&)>;

void ForEachType(const std::function<bool(ElementType)>& takes, double tolerance,
                 const Write& write) {
  for (int t = 0; t < kElementTypeCount; ++t) {
    const auto type = static_cast<ElementType>(t);
    if (!IsArrayType(type) || !takes(type)) continue;
    CAPTURE(Text(type));
    TypeModule module(type);
    write(type, module);
    const std::string text = module.Hlo();
    GpuCase test{text};
    test.tolerance = tolerance;
    // What the narrowest integers hold, too.
    test.largest_integer = BitWidth(type) >= 8 ? 20 : BitWidth(type) >= 4 ? 6 : 2;
    CHECK(RunGpuCase(test) == "");
  }
}

bool IsAny(ElementType) { return true; }
bool IsReal(ElementType type) { return !IsComplex(type) && !IsPred(type); }
// Sums are exact, or rounded in the same order everywhere.
bool IsWide(ElementType type) { return IsReal(type) && (IsInteger(type) || BitWidth(type) >= 32); }

TEST_CASE("movements in every type", "[gpu][types]") {
  ForEachType(IsAny, 0, [](ElementType type, TypeModule& m) {
    m.Parameter("x", "33,47");
    m.Parameter("y", "7,47");
    m.Parameter("z", "");
    m.Parameter("i", "", "s32");
    m.Parameter("rows", "5,1", "s32");
    m.Add("T[47,33]", "transpose(x), dimensions={1,0}");
    m.Add("T[3,33,47]", "broadcast(x), dimensions={1,2}");
    m.Add("T[3,11,47]", "reshape(x)");
    m.Add("T[11,16]", "slice(x), slice={[0:33:3], [1:47:3]}");
    m.Add("T[33,47]", "reverse(x), dimensions={0,1}");
    m.Add("T[47,47]", "concatenate(x, y, y), dimensions={0}");
    m.Add("T[70,49]", "pad(x, z), padding=1_4_1x1_1");
    m.Add("T[3,9]", "dynamic-slice(x, i, i), dynamic_slice_sizes={3,9}");
    m.Add("T[33,47]", "dynamic-update-slice(x, y, i, i)");
    m.Add("T[5,47]",
          "gather(x, rows), offset_dims={1}, collapsed_slice_dims={0}, "
          "start_index_map={0}, index_vector_dim=1, slice_sizes={1,47}");
    if (!IsPred(type) && type != ElementType::kF8E8M0FNU && BitWidth(type) >= 8)
      m.Add("T[7]", "iota(), iota_dimension=0");
  });
}

TEST_CASE("conversions from every type to every type", "[gpu][types]") {
  for (int f = 0; f < kElementTypeCount; ++f) {
    const auto from = static_cast<ElementType>(f);
    if (!IsArrayType(from)) continue;
    CAPTURE(Text(from));
    // All of them are one kernel.
    std::string body, shapes, names;
    for (int t = 0; t < kElementTypeCount; ++t) {
      const auto to = static_cast<ElementType>(t);
      if (!IsArrayType(to) || (IsComplex(from) && !IsComplex(to))) continue;
      body += fmt::format("v{} = {}[13] convert(x)\n", t, Text(to));
      shapes += fmt::format("{}{}[13]", shapes.empty() ? "" : ", ", Text(to));
      names += fmt::format("{}v{}", names.empty() ? "" : ", ", t);
    }
    const std::string text = fmt::format(
        "HloModule m\nf {{\nx = {0}[13] parameter(0)\n{1}ROOT t = ({2}) tuple({3}) }}\n"
        "ENTRY main {{\nx = {0}[13] parameter(0)\nROOT r = ({2}) fusion(x), kind=kLoop, calls=f "
        "}}",
        Text(from), body, shapes, names);
    GpuCase test{text};
    test.largest_integer = BitWidth(from) >= 8 ? 20 : BitWidth(from) >= 4 ? 6 : 2;
    CHECK(RunGpuCase(test) == "");
  }
}

TEST_CASE("reductions and windows in every real type", "[gpu][types]") {
  ForEachType(IsReal, 0, [](ElementType type, TypeModule& m) {
    m.Region("largest", "maximum(a, b)");
    m.Region("smallest", "minimum(a, b)");
    m.Parameter("x", "35,67");
    m.Parameter("z", "");
    m.Add("T[35]", "reduce(x, z), dimensions={1}, to_apply=largest");
    m.Add("T[67]", "reduce(x, z), dimensions={0}, to_apply=smallest");
    m.Add("T[]", "reduce(x, z), dimensions={0,1}, to_apply=largest");
    m.Add("T[33,22]", "reduce-window(x, z), window={size=3x3 stride=1x3}, to_apply=largest");
    m.Add("T[35,67]", "reduce-window(x, z), window={size=1x67 pad=0_0x66_0}, to_apply=smallest");
    m.Add("T[35,67]", "reduce-window(x, z), window={size=35x1 pad=34_0x0_0}, to_apply=largest");
    if (!IsInteger(type)) return;
    m.Region("add", "add(a, b)");
    m.Add("T[35]", "reduce(x, z), dimensions={1}, to_apply=add");
    m.Add("T[67]", "reduce(x, z), dimensions={0}, to_apply=add");
    m.Add("T[35,67]", "reduce-window(x, z), window={size=1x67 pad=0_0x66_0}, to_apply=add");
  });
}

TEST_CASE("sums in every wide type", "[gpu][types]") {
  ForEachType([](ElementType type) { return IsWide(type) || IsComplex(type); }, 1e-4,
              [](ElementType, TypeModule& m) {
                m.Region("add", "add(a, b)");
                m.Parameter("x", "35,67");
                m.Parameter("z", "");
                m.Add("T[35]", "reduce(x, z), dimensions={1}, to_apply=add");
                m.Add("T[67]", "reduce(x, z), dimensions={0}, to_apply=add");
                m.Add("T[]", "reduce(x, z), dimensions={0,1}, to_apply=add");
                m.Add("T[35,67]",
                      "reduce-window(x, z), window={size=1x67 pad=0_0x66_0}, to_apply=add");
              });
}

TEST_CASE("scatters in every type", "[gpu][types]") {
  // Updates of few results are combined in an order of their own.
  ForEachType(IsAny, 1e-6, [](ElementType type, TypeModule& m) {
    m.Region("combine", IsPred(type) ? "or(a, b)" : "add(a, b)");
    m.Region("last", "copy(b)");
    m.Parameter("x", "17,9");
    m.Parameter("i", "70,1", "s32");
    m.Parameter("u", "70,9");
    for (const char* region : {"combine", "last"}) {
      m.Add("T[17,9]",
            fmt::format("scatter(x, i, u), update_window_dims={{1}}, "
                        "inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, "
                        "index_vector_dim=1, to_apply={}",
                        region));
    }
  });
}

TEST_CASE("sorts and top-k in every real type", "[gpu][types]") {
  ForEachType(IsReal, 0, [](ElementType type, TypeModule& m) {
    m.Computation(
        fmt::format("less {{ a = {0}[] parameter(0)\nb = {0}[] parameter(1)\n"
                    "p = s32[] parameter(2)\nq = s32[] parameter(3)\n"
                    "ROOT c = pred[] compare(a, b), direction=LT{1} }}\n",
                    Text(type), IsFloat(type) ? ", type=TOTALORDER" : ""));
    m.Parameter("x", "3,67");
    m.Parameter("v", "3,67", "s32");
    m.Line(
        fmt::format("s = ({0}[3,67], s32[3,67]) sort(x, v), dimensions={{1}}, is_stable=true, "
                    "to_apply=less",
                    Text(type)));
    m.Add("T[3,67]", "get-tuple-element(s), index=0");
    m.Add("s32[3,67]", "get-tuple-element(s), index=1");
    m.Line(fmt::format("k = ({0}[3,5], s32[3,5]) topk(x), k=5, largest=true", Text(type)));
    m.Add("T[3,5]", "get-tuple-element(k), index=0");
    m.Add("s32[3,5]", "get-tuple-element(k), index=1");
  });
}

TEST_CASE("products and convolutions in every type", "[gpu][types]") {
  ForEachType(IsAny, 1e-4, [](ElementType type, TypeModule& m) {
    // Narrow floats are summed in f32, and stay there.
    const bool is_narrow = IsFloat(type) && BitWidth(type) < 32;
    const std::string result = is_narrow ? "f32" : "T";
    m.Parameter("x", "17,21");
    m.Parameter("y", "21,19");
    m.Parameter("v", "1,70");
    m.Parameter("w", "70,19");
    m.Add(result + "[17,19]", "dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}");
    m.Add(result + "[1,19]", "dot(v, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}");
    if (IsPred(type)) return;
    m.Parameter("image", "2,9,3");
    m.Parameter("filter", "3,3,11");
    m.Parameter("depthwise", "3,1,3");
    m.Add(result + "[2,5,11]",
          "convolution(image, filter), window={size=3 stride=2 pad=1_1}, "
          "dim_labels=b0f_0io->b0f");
    m.Add(result + "[2,7,3]",
          "convolution(image, depthwise), window={size=3}, "
          "dim_labels=b0f_0io->b0f, feature_group_count=3");
  });
}

TEST_CASE("random bits in every type that they are made in", "[gpu][types]") {
  ForEachType([](ElementType type) { return IsReal(type) && BitWidth(type) >= 8; }, 0,
              [](ElementType type, TypeModule& m) {
                m.Parameter("s", "2", "u64");
                for (const char* algorithm : {"rng_philox", "rng_three_fry"}) {
                  m.Line(fmt::format("{0} = (u64[2], {1}[37]) rng-bit-generator(s), algorithm={0}",
                                     algorithm, Text(type)));
                  m.Add("T[37]", fmt::format("get-tuple-element({}), index=1", algorithm));
                  m.Add("u64[2]", fmt::format("get-tuple-element({}), index=0", algorithm));
                }
              });
}

}  // namespace
}  // namespace hlo::gpu
