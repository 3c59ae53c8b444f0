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
                                                       kCholeskyCall,
                                                       kTriangularSolveCall,
                                                       kRadixSortCall};

}  // namespace hlo
