// Targets of the custom calls that XLA makes of NVIDIA's libraries. What each means is a table of
// passes/gpu/library_calls.h, by which all platforms run them; here because the evaluator names all
// targets that run.
#pragma once

#include <string_view>

namespace hlo {

inline constexpr std::string_view kGemm = "__cublas$gemm";
inline constexpr std::string_view kLtMatmul = "__cublas$lt$matmul";
inline constexpr std::string_view kLtMatmulF8 = "__cublas$lt$matmul$f8";
inline constexpr std::string_view kNormCall = "__cudnn$norm";
inline constexpr std::string_view kConvForward = "__cudnn$convForward";
inline constexpr std::string_view kConvBackwardInput = "__cudnn$convBackwardInput";
inline constexpr std::string_view kConvBackwardFilter = "__cudnn$convBackwardFilter";
inline constexpr std::string_view kConvBiasActivation = "__cudnn$convBiasActivationForward";
inline constexpr std::string_view kBatchNormInferenceCall =
    "__cudnn$batchNormalizationForwardInference";
inline constexpr std::string_view kBatchNormTrainingCall =
    "__cudnn$batchNormalizationForwardTraining";
inline constexpr std::string_view kBatchNormGradCall = "__cudnn$batchNormalizationBackward";
inline constexpr std::string_view kAttention = "__cudnn$fmhaSoftmax";
inline constexpr std::string_view kAttentionDropout = "__cudnn$fmhaSoftmaxDropout";
inline constexpr std::string_view kAttentionBias = "__cudnn$fmhaScaleBiasSoftmax";
inline constexpr std::string_view kAttentionBiasDropout = "__cudnn$fmhaScaleBiasSoftmaxDropout";
inline constexpr std::string_view kAttentionGrad = "__cudnn$fmhaSoftmaxBackward";
inline constexpr std::string_view kAttentionDropoutGrad = "__cudnn$fmhaSoftmaxDropoutBackward";
inline constexpr std::string_view kAttentionBiasGrad = "__cudnn$fmhaScaleBiasSoftmaxBackward";
inline constexpr std::string_view kAttentionBiasDropoutGrad =
    "__cudnn$fmhaScaleBiasSoftmaxDropoutBackward";
inline constexpr std::string_view kCholeskyCall = "__cusolver$cholesky";
inline constexpr std::string_view kTriangularSolveCall = "__cublas$triangularSolve";
inline constexpr std::string_view kRadixSortCall = "__cub$DeviceRadixSort";

inline constexpr std::string_view kLibraryTargets[] = {kGemm,
                                                       kLtMatmul,
                                                       kLtMatmulF8,
                                                       kNormCall,
                                                       kConvForward,
                                                       kConvBackwardInput,
                                                       kConvBackwardFilter,
                                                       kConvBiasActivation,
                                                       kBatchNormInferenceCall,
                                                       kBatchNormTrainingCall,
                                                       kBatchNormGradCall,
                                                       kAttention,
                                                       kAttentionDropout,
                                                       kAttentionBias,
                                                       kAttentionBiasDropout,
                                                       kAttentionGrad,
                                                       kAttentionDropoutGrad,
                                                       kAttentionBiasGrad,
                                                       kAttentionBiasDropoutGrad,
                                                       kCholeskyCall,
                                                       kTriangularSolveCall,
                                                       kRadixSortCall};

}  // namespace hlo
