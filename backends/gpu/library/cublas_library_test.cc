// Products by cuBLASLt against functions that stand in for it: they multiply on the host what its
// descriptors say, column by column, so a wrong size, stride or side gives a wrong result.
#include <catch2/catch.hpp>

#include "backends/gpu/cuda/cublaslt.h"
#include "backends/gpu/gpu_executable.h"
#include "backends/gpu/library/product_library.h"
#include "backends/gpu/program.h"
#include "backends/gpu/sim/simulated_device.h"
#include "lib/eval/evaluator.h"
#include "lib/support/status.h"
#include "lib/types/element_access.h"
#include "parser/parser.h"

namespace hlo::gpu {
namespace {

struct FakeLayout {
  int type;
  int64_t rows, columns, stride;
  int32_t batch = 1;
  int64_t batch_stride = 0;
};
struct FakeProduct {
  int compute, scale;
  int32_t transposed[2] = {0, 0};
};

constexpr size_t kWorkspace = 4096;
// What the last product was, and what the heuristic answers.
int last_compute = -1;
bool has_kernel = true;
void* last_workspace = nullptr;

template <typename T>
int Destroy(void* handle) {
  delete static_cast<T*>(handle);
  return 0;
}

ElementType TypeOf(int cuda_type) {
  constexpr std::pair<int, ElementType> kTypes[] = {
      {kCudaTypeF32, ElementType::kF32}, {kCudaTypeF64, ElementType::kF64},
      {kCudaTypeF16, ElementType::kF16}, {kCudaTypeBF16, ElementType::kBF16},
      {kCudaTypeS8, ElementType::kS8},   {kCudaTypeS32, ElementType::kS32},
  };
  for (const auto& [theirs, ours] : kTypes) {
    if (theirs == cuda_type) return ours;
  }
  FAIL("type " << cuda_type);
  return ElementType::kF32;
}

// Element i of memory of a type.
double At(ElementType type, const void* data, int64_t i) {
  double value = 0;
  ReadDoubles(type, static_cast<const uint8_t*>(data) + i * ByteSize(type), 1, &value);
  return value;
}

int FakeMatmul(void* /*handle*/, void* product, const void* /*alpha*/, const void* a,
               void* a_layout, const void* b, void* b_layout, const void* /*beta*/,
               const void* /*c*/, void* /*c_layout*/, void* d, void* d_layout,
               const void* /*algorithm*/, void* workspace, size_t workspace_bytes,
               void* /*stream*/) {
  const auto& how = *static_cast<FakeProduct*>(product);
  const auto& la = *static_cast<FakeLayout*>(a_layout);
  const auto& lb = *static_cast<FakeLayout*>(b_layout);
  const auto& ld = *static_cast<FakeLayout*>(d_layout);
  const bool ta = how.transposed[0] != 0, tb = how.transposed[1] != 0;
  const int64_t depth = ta ? la.rows : la.columns;
  const bool fits = (ta ? la.columns : la.rows) == ld.rows &&
                    (tb ? lb.rows : lb.columns) == ld.columns &&
                    (tb ? lb.columns : lb.rows) == depth && la.batch == ld.batch &&
                    lb.batch == ld.batch && workspace_bytes == kWorkspace;
  for (const FakeLayout* layout : {&la, &lb, &ld}) {
    if (!fits || layout->stride < layout->rows) return 7;
  }
  last_compute = how.compute;
  last_workspace = workspace;
  const int64_t a_row = ta ? la.stride : 1, a_depth = ta ? 1 : la.stride;
  const int64_t b_column = tb ? 1 : lb.stride, b_depth = tb ? lb.stride : 1;
  const ElementType factor = TypeOf(la.type), type = TypeOf(ld.type);
  for (int64_t batch = 0; batch < ld.batch; ++batch) {
    for (int64_t column = 0; column < ld.columns; ++column) {
      for (int64_t row = 0; row < ld.rows; ++row) {
        const int64_t x = batch * la.batch_stride + row * a_row;
        const int64_t y = batch * lb.batch_stride + column * b_column;
        double sum = 0;
        for (int64_t k = 0; k < depth; ++k)
          sum += At(factor, a, x + k * a_depth) * At(factor, b, y + k * b_depth);
        const int64_t place = batch * ld.batch_stride + column * ld.stride + row;
        WriteDoubles(type, &sum, 1, static_cast<uint8_t*>(d) + place * ByteSize(type));
      }
    }
  }
  return 0;
}

const CublasLt& Fake() {
  static const CublasLt fake = [] {
    CublasLt lt;
    lt.path = "fake";
    lt.cublasLtCreate = [](void** handle) {
      *handle = new int(0);
      return 0;
    };
    lt.cublasLtDestroy = Destroy<int>;
    lt.cublasLtMatmul = FakeMatmul;
    lt.cublasLtMatmulAlgoGetHeuristic = [](void*, void*, void*, void*, void*, void*, void*, int,
                                           void* results, int* found) {
      *found = has_kernel ? 1 : 0;
      static_cast<CublasLtHeuristic*>(results)->workspace_bytes = kWorkspace;
      return 0;
    };
    lt.cublasLtMatmulDescCreate = [](void** product, int compute, int scale) {
      *product = new FakeProduct{compute, scale};
      return 0;
    };
    lt.cublasLtMatmulDescDestroy = Destroy<FakeProduct>;
    lt.cublasLtMatmulDescSetAttribute = [](void* product, int attribute, const void* value,
                                           size_t) {
      static_cast<FakeProduct*>(product)->transposed[attribute == kProductTransposeA ? 0 : 1] =
          *static_cast<const int32_t*>(value);
      return 0;
    };
    lt.cublasLtMatmulPreferenceCreate = [](void** preference) {
      *preference = new int(0);
      return 0;
    };
    lt.cublasLtMatmulPreferenceDestroy = Destroy<int>;
    lt.cublasLtMatmulPreferenceSetAttribute = [](void*, int, const void*, size_t) { return 0; };
    lt.cublasLtMatrixLayoutCreate = [](void** layout, int type, uint64_t rows, uint64_t columns,
                                       int64_t stride) {
      *layout =
          new FakeLayout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), stride};
      return 0;
    };
    lt.cublasLtMatrixLayoutDestroy = Destroy<FakeLayout>;
    lt.cublasLtMatrixLayoutSetAttribute = [](void* handle, int attribute, const void* value,
                                             size_t) {
      auto& layout = *static_cast<FakeLayout*>(handle);
      if (attribute == kLayoutBatchCount) {
        layout.batch = *static_cast<const int32_t*>(value);
      } else {
        layout.batch_stride = *static_cast<const int64_t*>(value);
      }
      return 0;
    };
    return lt;
  }();
  return fake;
}

// A module whose root is the dot `text` of x and w.
std::unique_ptr<Module> DotOf(std::string_view x, std::string_view w, std::string_view result,
                              std::string_view attributes) {
  auto module = ParseModule(
      fmt::format("HloModule m\nENTRY main {{\n  x = {} parameter(0)\n  w = {} parameter(1)\n"
                  "  ROOT d = {} dot(x, w), {}\n}}\n",
                  x, w, result, attributes));
  REQUIRE(module.ok());
  return *std::move(module);
}

// Small integers, whose sums of products are exact.
std::vector<Literal> ArgumentsOf(const Module& module) {
  std::vector<Literal> arguments;
  int64_t seed = 5;
  for (const Instruction* parameter : module.entry()->parameters()) {
    Literal values(parameter->shape());
    for (int64_t i = 0; i < values.element_count(); ++i) {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      const int64_t value = (seed >> 16) % 5 - 2;
      if (IsFloat(values.element_type())) {
        values.SetDouble(i, static_cast<double>(value));
      } else {
        values.SetInt(i, value);
      }
    }
    arguments.push_back(std::move(values));
  }
  return arguments;
}

Literal Expected(const Module& module, const std::vector<Literal>& arguments) {
  Evaluator evaluator{EvalOptions()};
  auto expected = evaluator.Run(module, arguments);
  REQUIRE(expected.ok());
  return *expected;
}

bool SameBytes(const Literal& a, const Literal& b) {
  return a.byte_size() == b.byte_size() && std::equal(a.data(), a.data() + a.byte_size(), b.data());
}

struct DotCase {
  std::string_view x, w, result, attributes;
};

TEST_CASE("products are given to cuBLASLt as they lie", "[gpu][library]") {
  const DotCase kCases[] = {
      {"f32[3,5]", "f32[5,7]", "f32[3,7]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
      {"f32[5,3]", "f32[5,7]", "f32[3,7]", "lhs_contracting_dims={0}, rhs_contracting_dims={0}"},
      {"f32[3,5]", "f32[7,5]", "f32[3,7]", "lhs_contracting_dims={1}, rhs_contracting_dims={1}"},
      {"f32[5,3]", "f32[7,5]", "f32[3,7]", "lhs_contracting_dims={0}, rhs_contracting_dims={1}"},
      {"f32[2,3,5]", "f32[2,5,7]", "f32[2,3,7]",
       "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
       "rhs_contracting_dims={1}"},
      // Batches between the other dimensions, and of either order.
      {"f32[3,2,5]", "f32[5,2,7]", "f32[2,3,7]",
       "lhs_batch_dims={1}, rhs_batch_dims={1}, lhs_contracting_dims={2}, "
       "rhs_contracting_dims={0}"},
      {"f32[2,5,3]", "f32[7,2,5]", "f32[2,3,7]",
       "lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={1}, "
       "rhs_contracting_dims={2}"},
      // Several dimensions as one.
      {"f32[2,4,3,5]", "f32[2,4,7,5]", "f32[2,4,3,7]",
       "lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, lhs_contracting_dims={3}, "
       "rhs_contracting_dims={3}"},
      {"f32[3,5,2]", "f32[5,2,7]", "f32[3,7]",
       "lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}"},
      {"f32[2,3,5]", "f32[5,7,2]", "f32[2,3,7,2]",
       "lhs_contracting_dims={2}, rhs_contracting_dims={0}"},
      {"f32[3,1,5]", "f32[1,5,7]", "f32[1,3,7]",
       "lhs_batch_dims={1}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
       "rhs_contracting_dims={1}"},
      {"bf16[3,5]", "bf16[5,7]", "bf16[3,7]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
      {"bf16[3,5]", "bf16[5,7]", "f32[3,7]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
      {"f16[3,5]", "f16[7,5]", "f16[3,7]", "lhs_contracting_dims={1}, rhs_contracting_dims={1}"},
      {"f64[5,3]", "f64[5,7]", "f64[3,7]", "lhs_contracting_dims={0}, rhs_contracting_dims={0}"},
      {"s8[3,5]", "s8[7,5]", "s32[3,7]", "lhs_contracting_dims={1}, rhs_contracting_dims={1}"},
  };
  auto device = MakeSimulatedDevice({});
  REQUIRE(device.ok());
  auto stream = (*device)->CreateStream();
  REQUIRE(stream.ok());
  const auto library = MakeCublasLibrary(Fake());
  REQUIRE(library.ok());
  for (const DotCase& test : kCases) {
    INFO(test.x << " x " << test.w << ", " << test.attributes);
    const auto module = DotOf(test.x, test.w, test.result, test.attributes);
    const auto product = AsLibraryProduct(*module->entry()->root());
    REQUIRE(product.has_value());
    CHECK_FALSE(IsForLibrary(*product));  // too small
    const auto plans = (*library)->Plans(*product, /*cut=*/false, /*most=*/1);
    REQUIRE(plans.ok());
    REQUIRE(plans->size() == 1);
    const ProductPlan& plan = *plans->front();
    CHECK(plan.workspace_bytes() == int64_t{kWorkspace});
    std::vector<Literal> arguments = ArgumentsOf(*module);
    const Literal expected = Expected(*module, arguments);
    Literal result(expected.shape());
    const auto at = [](Literal& literal) {
      return static_cast<DevicePtr>(reinterpret_cast<uintptr_t>(literal.mutable_data()));
    };
    const absl::Status status =
        plan.Run(**stream, at(arguments[0]), at(arguments[1]), at(result), 0);
    REQUIRE(status.ok());
    CHECK(SameBytes(result, expected));
  }
}

TEST_CASE("what would have to be moved first is no product for a library", "[gpu][library]") {
  const DotCase kCases[] = {
      // Neighbours in memory are of different batches.
      {"f32[3,5,2]", "f32[2,5,7]", "f32[2,3,7]",
       "lhs_batch_dims={2}, rhs_batch_dims={0}, lhs_contracting_dims={1}, "
       "rhs_contracting_dims={1}"},
      // Contracted, batch and free dimensions in several pieces, or in another order.
      {"f32[3,5,2]", "f32[2,5,7]", "f32[3,7]",
       "lhs_contracting_dims={1,2}, rhs_contracting_dims={1,0}"},
      {"f32[2,4,3,5]", "f32[4,2,7,5]", "f32[2,4,3,7]",
       "lhs_batch_dims={0,1}, rhs_batch_dims={1,0}, lhs_contracting_dims={3}, "
       "rhs_contracting_dims={3}"},
      {"f32[3,5,2]", "f32[5,7]", "f32[3,2,7]",
       "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
      {"s8[3,5]", "s8[5,7]", "s8[3,7]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
      {"bf16[3,5]", "f32[5,7]", "f32[3,7]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
  };
  for (const DotCase& test : kCases) {
    INFO(test.x << " x " << test.w << ", " << test.attributes);
    const auto module = DotOf(test.x, test.w, test.result, test.attributes);
    CHECK_FALSE(AsLibraryProduct(*module->entry()->root()).has_value());
  }
}

TEST_CASE("TF32 is for f32 of default precision, or where it is asked for", "[gpu][library]") {
  struct Wanted {
    std::string_view more;
    bool is_taken, may_cut;
  };
  const Wanted kCases[] = {
      {"", true, true},
      {", operand_precision={default,default}", true, true},
      {", operand_precision={high,high}", true, false},
      {", operand_precision={default,highest}", true, false},
      {", algorithm=dot_f32_f32_f32", true, false},
      {", algorithm=dot_tf32_tf32_f32", true, true},
      {", algorithm=dot_tf32_tf32_f32_x3", false, false},
      {", algorithm=dot_bf16_bf16_f32", false, false},
  };
  const auto library = MakeCublasLibrary(Fake());
  REQUIRE(library.ok());
  for (const Wanted& test : kCases) {
    INFO(test.more);
    const auto module =
        DotOf("f32[3,5]", "f32[5,7]", "f32[3,7]",
              fmt::format("lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}{}", test.more));
    const auto product = AsLibraryProduct(*module->entry()->root());
    REQUIRE(product.has_value() == test.is_taken);
    if (product) CHECK(product->may_cut == test.may_cut);
  }
}

constexpr std::string_view kLargeLeft = "f32[512,256]", kLargeRight = "f32[256,512]",
                           kLargeResult = "f32[512,512]",
                           kPlain = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";

absl::StatusOr<Program> LargeProgram(Module& module, bool tf32 = true) {
  CompileOptions options;
  options.gpu.multiprocessors = 132;
  options.gpu.tf32 = tf32;
  return EmitProgram(module, options, [] {
    auto library = MakeCublasLibrary(Fake());
    return library.ok() ? *library : nullptr;
  });
}

TEST_CASE("a large product of a program is the library's", "[gpu][library]") {
  for (const bool tf32 : {true, false}) {
    auto module = DotOf(kLargeLeft, kLargeRight, kLargeResult, kPlain);
    const std::vector<Literal> arguments = ArgumentsOf(*module);
    const Literal expected = Expected(*module, arguments);
    auto program = LargeProgram(*module, tf32);
    REQUIRE(program.ok());
    CHECK(program->kernels.empty());
    CHECK(program->scratch_bytes >= int64_t{kWorkspace});
    auto device = MakeSimulatedDevice({});
    REQUIRE(device.ok());
    auto executable = GpuExecutable::Make(std::move(module), {{*std::move(device)}, nullptr},
                                          *std::move(program), std::vector<DeviceCode>());
    REQUIRE(executable.ok());
    // The stand-in does not wait for its turn on the stream: the arguments must be there before.
    auto prepared = (*executable)->Prepare(arguments, {});
    REQUIRE(prepared.ok());
    REQUIRE((*prepared)->Run().ok());
    auto result = (*prepared)->Result();
    REQUIRE(result.ok());
    CHECK(SameBytes(*result, expected));
    CHECK(last_compute == (tf32 ? kComputeTF32 : kComputeF32));
    CHECK(last_workspace != nullptr);
  }
}

TEST_CASE("a product that the library has no kernel for is one of ours", "[gpu][library]") {
  has_kernel = false;
  auto module = DotOf(kLargeLeft, kLargeRight, kLargeResult, kPlain);
  const auto program = LargeProgram(*module);
  has_kernel = true;
  REQUIRE(program.ok());
  CHECK(program->kernels.size() == 2);  // blocks share the depth of its few tiles
}

}  // namespace
}  // namespace hlo::gpu
