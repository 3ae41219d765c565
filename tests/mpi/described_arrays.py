"""Arrays that describe their memory instead of exporting it: by DLPack, or by the CUDA array interface."""


class Tensor:
    """An array that lends its memory by DLPack alone, as version 0 or as the latest."""

    def __init__(self, array, version=1):
        self.array, self.version = array, version

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **asked):
        if self.version == 0 and asked:
            raise TypeError("max_version")
        return self.array.__dlpack__(**asked)


class CudaArray:
    """An array that describes itself by the CUDA array interface alone."""

    def __init__(self, array, **other):
        self.array = array
        address, is_readonly = array.__array_interface__["data"]
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": array.shape,
            "strides": array.strides,
            "typestr": array.dtype.str,
            "data": (address, is_readonly),
            **other,
        }
