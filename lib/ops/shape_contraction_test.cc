#include "lib/ops/shape_test_util.h"

namespace hlo {
namespace {

AttrsPtr Dot(DimVec lhs_batch, DimVec lhs, DimVec rhs_batch, DimVec rhs) {
  return AttrsPtr::Make(DotAttrs{lhs_batch, lhs, rhs_batch, rhs});
}
AttrsPtr MatMul() { return Dot({}, {1}, {}, {0}); }

AttrsPtr Ragged(DimVec rhs_batch, DimVec rhs, DimVec ragged, DimVec group) {
  RaggedDotAttrs attrs;
  attrs.lhs_batch_dims = {0};
  attrs.lhs_contracting_dims = {2};
  attrs.rhs_batch_dims = rhs_batch;
  attrs.rhs_contracting_dims = rhs;
  attrs.lhs_ragged_dims = ragged;
  attrs.rhs_group_dims = group;
  return AttrsPtr::Make(attrs);
}

// b01f_01io->b01f
ConvolutionAttrs Conv(std::vector<WindowDim> window) {
  ConvolutionAttrs attrs;
  attrs.window.dims = std::move(window);
  attrs.dim_labels = {0, 3, {1, 2}, 2, 3, {0, 1}, 0, 3, {1, 2}};
  return attrs;
}
AttrsPtr Grouped(int64_t feature_groups, int64_t batch_groups) {
  ConvolutionAttrs attrs = Conv({{2}, {2}});
  attrs.feature_group_count = feature_groups;
  attrs.batch_group_count = batch_groups;
  return AttrsPtr::Make(attrs);
}
AttrsPtr Fft(FftType type, DimVec length) { return AttrsPtr::Make(FftAttrs{type, length}); }
AttrsPtr Solve(bool left_side) {
  TriangularSolveAttrs attrs;
  attrs.left_side = left_side;
  attrs.lower = true;
  attrs.transpose_a = TransposeKind::kNoTranspose;
  return AttrsPtr::Make(attrs);
}

TEST_CASE("dot gives batch, left and right dimensions", "[ops][shape]") {
  CheckAll({
      {"dot", {"f32[2,3]{0,1}", "f32[3,5]"}, "f32[2,5]{1,0}", MatMul()},
      {"dot", {"f32[7,2,3]", "bf16[3,7,5]"}, "f32[7,2,5]{2,1,0}", Dot({0}, {2}, {1}, {0})},
      {"dot", {"f32[<=7,2,3]", "f32[3,7,<=5]"}, "f32[<=7,2,<=5]{2,1,0}", Dot({0}, {2}, {1}, {0})},
      {"dot", {"f32[2]", "f32[3]"}, "f32[2,3]{1,0}", Dot({}, {}, {}, {})},
      {"dot", {"s4[2,3]", "s8[3,5]"}, "s8[2,5]{1,0}", MatMul()},
      {"dot", {"u8[2,3]", "s8[3,5]"}, "s8[2,5]{1,0}", MatMul()},
      {"dot", {"s32[2,3]", "f16[3,5]"}, "f16[2,5]{1,0}", MatMul()},
      {"dot", {"bf16[2,3]", "bf16[3,5]"}, "f32[2,5]{1,0}", MatMul(), {}, "f32[2,5]"},
      {"dot", {"s32[2,3]", "s32[3,5]"}, "s8[2,5]{1,0}", MatMul(), {}, "s8[2,5]"},
  });
}

TEST_CASE("dot names the dimensions that do not fit", "[ops][shape]") {
  CheckAll({
      {"dot",
       {"f32[2,64]", "f32[32,5]"},
       "contracting dimension 1 of `lhs` is 64, 0 of `rhs` 32",
       MatMul()},
      {"dot",
       {"f32[2,3]", "f32[3,5]"},
       "found 1 contracting dimensions of `lhs`, but 0 of `rhs`",
       Dot({}, {1}, {}, {})},
      {"dot",
       {"f32[2,2]", "f32[2,5]"},
       "dimension 0 of `lhs` is both a batch and a contracting dimension",
       Dot({0}, {0}, {0}, {0})},
      {"dot",
       {"f32[2,3]", "f32[3,5]"},
       "`lhs_contracting_dims` names dimension 1 twice",
       Dot({}, {1, 1}, {}, {0, 0})},
      {"dot",
       {"f32[2,3]", "f32[3,5]"},
       "`lhs_contracting_dims` names dimension 2, expected one in [0, 2)",
       Dot({}, {2}, {}, {0})},
  });
}

TEST_CASE("ragged-dot depends on the kind of the ragged dimension", "[ops][shape]") {
  CheckAll({
      {"ragged-dot",
       {"f32[2,4,3]", "f32[5,2,3,7]", "s32[2,5]"},
       "f32[2,4,7]{2,1,0}",
       Ragged({1}, {2}, {1}, {0})},
      {"ragged-dot",
       {"f32[2,4,3]", "f32[5,2,3,7]", "s32[5]"},
       "f32[2,4,7]{2,1,0}",
       Ragged({1}, {2}, {1}, {0})},
      {"ragged-dot",
       {"f32[2,4,3]", "f32[2,3,7]", "s32[2,5]"},
       "f32[5,2,4,7]{3,2,1,0}",
       Ragged({0}, {1}, {2}, {})},
      {"ragged-dot",
       {"f32[2,4,3]", "f32[2,3,7]", "s32[5]"},
       "f32[2,4,7]{2,1,0}",
       Ragged({0}, {1}, {0}, {})},
      {"ragged-dot",
       {"f32[2,4,3]", "f32[5,2,3,7]", "s32[3,5]"},
       "`group_sizes` has shape `s32[3,5]`, expected [groups] or the 1 dimensions before the "
       "ragged one and [groups]",
       Ragged({1}, {2}, {1}, {0})},
      {"ragged-dot",
       {"f32[2,4,3]", "f32[5,2,3,7]", "s32[2,6]"},
       "group dimension 0 of `rhs` is 5, but `group_sizes` has 6 groups",
       Ragged({1}, {2}, {1}, {0})},
      {"ragged-dot",
       {"f32[2,4,3]", "f32[2,3,7]", "s32[5]"},
       "`rhs_group_dims` has 0 entries, expected 1: the ragged dimension 1 of `lhs` is free",
       Ragged({0}, {1}, {1}, {})},
  });
}

TEST_CASE("scaled-dot has scales that divide the operands", "[ops][shape]") {
  CheckAll({
      {"scaled-dot",
       {"f8e4m3fn[4,32]", "f8e4m3fn[32,6]", "f8e8m0fnu[4,2]", "f8e8m0fnu[2,6]"},
       "bf16[4,6]{1,0}",
       MatMul(),
       {},
       "bf16[4,6]"},
      {"scaled-dot",
       {"f8e4m3fn[4,32]", "bf16[32,6]", "f8e8m0fnu[4,2]", "bf16[]"},
       "bf16[4,6]{1,0}",
       MatMul()},
      {"scaled-dot",
       {"bf16[4,32]", "bf16[32,6]", "bf16[]", "bf16[]"},
       "`lhs_scale` and `rhs_scale` are both scalars, so nothing is scaled",
       MatMul()},
      {"scaled-dot",
       {"f8e4m3fn[4,32]", "bf16[32,6]", "f8e8m0fnu[4,3]", "bf16[]"},
       "dimension 1 of `lhs_scale` has size 3, which does not divide 32, that of `lhs`",
       MatMul()},
  });
}

TEST_CASE("convolution slides a window over the spatial dimensions", "[ops][shape]") {
  ConvolutionAttrs dilated = Conv({{2, 1, 1, 1, 2, 2}, {2, 1, -1, 2, 2, 1}});
  dilated.dim_labels.output_feature = 0;
  dilated.dim_labels.output_batch = 3;
  ConvolutionAttrs plain;
  plain.dim_labels = {0, 1, {}, 0, 1, {}, 0, 1, {}};
  CheckAll({
      {"convolution",
       {"f32[1,4,4,3]", "f32[2,2,3,8]"},
       "f32[1,2,2,8]{3,2,1,0}",
       AttrsPtr::Make(Conv({{2, 2}, {2, 2}}))},
      {"convolution",
       {"f32[1,4,4,3]", "f32[2,2,3,8]"},
       "f32[8,7,7,1]{3,2,1,0}",
       AttrsPtr::Make(dilated)},
      {"convolution",
       {"f32[1,4,4,3]", "f32[9,9,3,8]"},
       "f32[1,0,0,8]{3,2,1,0}",
       AttrsPtr::Make(Conv({{9}, {9}}))},
      {"convolution", {"f32[1,4,4,6]", "f32[2,2,3,8]"}, "f32[1,3,3,8]{3,2,1,0}", Grouped(2, 1)},
      {"convolution", {"f32[4,4,4,3]", "f32[2,2,3,8]"}, "f32[2,3,3,8]{3,2,1,0}", Grouped(1, 2)},
      {"convolution",
       {"f32[<=2,<=4,4,3]", "f32[2,2,3,8]"},
       "f32[<=2,<=3,3,8]{3,2,1,0}",
       Grouped(1, 1)},
      {"convolution", {"s8[1,4,4,3]", "f32[2,2,3,8]"}, "f32[1,3,3,8]{3,2,1,0}", Grouped(1, 1)},
      {"convolution", {"f32[5,3]", "f32[3,8]"}, "f32[5,8]{1,0}", AttrsPtr::Make(plain)},
  });
}

TEST_CASE("convolution names what does not fit", "[ops][shape]") {
  CheckAll({
      {"convolution",
       {"f32[1,4,4,3]", "f32[2,2,4,8]"},
       "the feature dimension of `lhs` is 3, expected 4: 1 groups of the 4 input features of `rhs`",
       Grouped(1, 1)},
      {"convolution",
       {"f32[1,4,4,6]", "f32[2,2,3,7]"},
       "`rhs` has 7 output features, which 2 groups do not divide",
       Grouped(2, 1)},
      {"convolution",
       {"f32[3,4,4,3]", "f32[2,2,3,8]"},
       "the batch dimension of `lhs` is 3, which 2 batch groups do not divide",
       Grouped(1, 2)},
      {"convolution",
       {"f32[2,4,4,6]", "f32[2,2,3,8]"},
       "`feature_group_count` is 2 and `batch_group_count` 2; both must be positive and one of "
       "them 1",
       Grouped(2, 2)},
      {"convolution",
       {"f32[1,4,4,3]", "f32[2,2,3,8]"},
       "window dimension 0 has size 3, but dimension 0 of `rhs` is 2",
       AttrsPtr::Make(Conv({{3}, {2}}))},
      {"convolution",
       {"f32[1,4,4,3]", "f32[2,2,3,8]"},
       "`window` has 1 dimensions, but `dim_labels` has 2 spatial ones",
       AttrsPtr::Make(Conv({{2}}))},
      {"convolution",
       {"f32[1,4,4,3]", "f32[2,2]"},
       "`rhs` has shape `f32[2,2]` of rank 2, expected rank 4",
       Grouped(1, 1)},
      {"convolution",
       {"f32[1,4,4,3]", "f32[2,2,3,8]", "u16[1]"},
       "found 1 operands after `rhs`, but `sparsity_config` describes 0",
       Grouped(1, 1)},
  });
}

TEST_CASE("fft follows its kind", "[ops][shape]") {
  CheckAll({
      {"fft", {"c64[4,8]{0,1}"}, "c64[4,8]{0,1}", Fft(FftType::kFft, {8})},
      {"fft", {"f32[4,8]{0,1}"}, "c64[4,5]{0,1}", Fft(FftType::kRfft, {8})},
      {"fft", {"f64[4,0]"}, "c128[4,0]{1,0}", Fft(FftType::kRfft, {0})},
      {"fft", {"c64[4,5]{0,1}"}, "f32[4,8]{0,1}", Fft(FftType::kIrfft, {8})},
      {"fft", {"c64[4,5]"}, "f32[4,9]{1,0}", Fft(FftType::kIrfft, {4, 9})},
      {"fft", {"c64[4,8]"}, "c64[4,8]{1,0}", Fft(FftType::kFft, {7})},
      {"fft", {"c64[1]"}, "f32[0]{0}", Fft(FftType::kIrfft, {0})},
      {"fft",
       {"f32[4,8]"},
       "dimension 1 of `operand` has size 8, but entry 0 of `fft_length` is 7, which needs 7",
       Fft(FftType::kRfft, {7})},
      {"fft",
       {"c64[4,5]"},
       "dimension 1 of `operand` has size 5, but entry 0 of `fft_length` is 7, which needs 4",
       Fft(FftType::kIrfft, {7})},
      {"fft",
       {"f16[4]"},
       "`operand` has element type `f16`, expected `f32` or `f64` for `RFFT`",
       Fft(FftType::kRfft, {4})},
      {"fft",
       {"f32[4]"},
       "`operand` has element type `f32`, expected `c64` or `c128` for `FFT`",
       Fft(FftType::kFft, {4})},
      {"fft",
       {"c64[4]"},
       "`operand` has rank 1, but `fft_length` has 2 entries",
       Fft(FftType::kFft, {4, 8})},
      {"fft", {"c64[4]"}, "`fft_length` has 0 entries, expected 1 to 3", Fft(FftType::kFft, {})},
  });
}

TEST_CASE("cholesky and triangular-solve want square matrices", "[ops][shape]") {
  CheckAll({
      {"cholesky", {"f32[2,3,3]{0,1,2}"}, "f32[2,3,3]{0,1,2}"},
      {"cholesky", {"f32[2,3,4]"}, "`a` has shape `f32[2,3,4]`, expected square matrices"},
      {"cholesky", {"f32[3]"}, "`a` has shape `f32[3]`, expected rank 2 or more"},
      {"cholesky", {"s32[3,3]"}, "`a` has element type `s32`, expected float or complex"},
      {"triangular-solve", {"f32[3,3]", "f32[3,5]{0,1}"}, "f32[3,5]{0,1}", Solve(true)},
      {"triangular-solve", {"f32[3,3]", "f32[5,3]"}, "f32[5,3]{1,0}", Solve(false)},
      {"triangular-solve",
       {"f32[3,3]", "f32[3,5]"},
       "the matrices in `a` have 3 rows, but dimension 1 of `b` is 5",
       Solve(false)},
      {"triangular-solve",
       {"f32[2,3,3]", "f32[4,3,5]"},
       "batch dimension 0 of `a` is 2, of `b` 4",
       Solve(true)},
      {"triangular-solve",
       {"f32[3,3]", "bf16[3,5]"},
       "`b` has element type `bf16`, but `a` has `f32`",
       Solve(true)},
  });
}

}  // namespace
}  // namespace hlo
